/* LFC's counters, which a program reads as performance variables.
 *
 *   open_variables();
 *   MPI_T_pvar_handle turns = variable_called("btl_lfc_thread_turns");
 *   unsigned long long before = read_variable(turns);
 *   close_variables(); */
#ifndef LFC_TESTS_MPI_VARIABLES_H
#define LFC_TESTS_MPI_VARIABLES_H

#include "check.h"

static MPI_T_pvar_session session;

static inline void open_variables(void) {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
}

static inline void close_variables(void) {
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

static inline MPI_T_pvar_handle variable_called(const char* wanted) {
  int count = 0;
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    char name[256];
    int length = sizeof name;
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, NULL, NULL, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        strcmp(name, wanted) != 0)
      continue;
    MPI_T_pvar_handle handle;
    int elements = 0;
    require(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements) == MPI_SUCCESS, "%s",
            name);
    if (!continuous) MPI_T_pvar_start(session, handle);
    return handle;
  }
  fail("no performance variable %s", wanted);
}

static inline unsigned long long read_variable(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  require(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
  return value;
}

#endif
