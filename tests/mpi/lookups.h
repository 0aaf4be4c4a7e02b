// Look-ups of LFC's facts in Open MPI's start-up exchange, counted: include it in one file of a program that is linked
// with ENABLE_EXPORTS, so that Open MPI calls this PMIx_Get in place of PMIx's.
//
//   check_start(&argc, &argv, MPI_THREAD_SINGLE);
//   require(all_lookups() > 0, "Open MPI does not call this PMIx_Get");
//   const unsigned before = lfc_lookups();
//   MPI_Win_create(...);
//   require(lfc_lookups() == before, "%u look-ups", lfc_lookups() - before);
#ifndef LFC_TESTS_MPI_LOOKUPS_H
#define LFC_TESTS_MPI_LOOKUPS_H

#include <dlfcn.h>
#include <stdatomic.h>

#include "check.h"

static atomic_uint lookups_of_lfc, lookups_of_all;

static inline unsigned lfc_lookups(void) { return atomic_load(&lookups_of_lfc); }
static inline unsigned all_lookups(void) { return atomic_load(&lookups_of_all); }

// PMIx's own, without its types. Open MPI 4.1 loads PMIx with a component, so it is not among the program's libraries.
typedef int get_function(const void* process, const char* key, const void* info, size_t count,
                         void** value);
__attribute__((visibility("default"))) get_function PMIx_Get;

int PMIx_Get(const void* process, const char* key, const void* info, size_t count, void** value) {
  static _Atomic(get_function*) own;
  get_function* get = atomic_load(&own);
  if (get == NULL) {
    void* const library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library == NULL ? NULL : dlsym(library, "PMIx_Get");
    if (found == NULL) return -1;
    memcpy(&get, &found, sizeof get);
    atomic_store(&own, get);
  }
  atomic_fetch_add(&lookups_of_all, 1);
  if (key != NULL && strncmp(key, "lfc", 3) == 0) atomic_fetch_add(&lookups_of_lfc, 1);
  return get(process, key, info, count, value);
}

#endif
