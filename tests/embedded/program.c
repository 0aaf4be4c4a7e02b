// A program that loads MPI with RTLD_LOCAL, as Python, Perl, R and Lua load their extension modules: Open MPI's symbols
// are then visible to its libraries only, and not in the global scope. It unloads the module when MPI has ended.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* extension = dlopen(LFC_EXTENSION, RTLD_NOW | RTLD_LOCAL);
  if (extension == NULL) {
    printf("FAIL: %s\n", dlerror());
    return 1;
  }
  if (dlsym(RTLD_DEFAULT, "MPI_Init") != NULL) {
    printf("FAIL: MPI is in the global scope, so this tests nothing\n");
    return 1;
  }
  int (*run)(int, char**) = (int (*)(int, char**))(uintptr_t)dlsym(extension, "embedded_run");
  const int status = run(argc, argv);
  if (dlclose(extension) != 0) {
    printf("FAIL: %s\n", dlerror());
    return 1;
  }
  return status;
}
