// Each part of LFC that a rank has loaded belongs to the build of this program, even if LFC is installed elsewhere
// too. tests/scripts/installed.sh runs this program beside an installed copy.
#include <libgen.h>

#include "check.h"

// The parts of LFC, by the beginnings of the files' names.
static bool is_ours(const char* name) {
  static const char* const parts[] = {"liblfc.so", "mca_btl_lfc.so", "mca_coll_lfc.so",
                                      "mca_osc_neon.so"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    if (strncmp(name, parts[i], strlen(parts[i])) == 0) return true;
  return false;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  char own[4096], line[4200], expected[4200];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  require(length > 0, "cannot read /proc/self/exe");
  own[length] = '\0';
  // BUILD/tests/mpi/mpi_loaded, BUILD/components
  snprintf(expected, sizeof expected, "%s/components", dirname(dirname(dirname(own))));

  FILE* maps = fopen("/proc/self/maps", "r");
  require(maps != NULL, "cannot read /proc/self/maps");
  int found = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    char* const path = strchr(line, '/');
    char* const name = path != NULL ? strrchr(path, '/') + 1 : NULL;
    if (name == NULL || !is_ours(name)) continue;
    name[-1] = '\0';
    require(strcmp(path, expected) == 0, "%s is loaded from %s, not from %s", name, path, expected);
    ++found;
  }
  fclose(maps);
  require(found > 0, "nothing of LFC is loaded");
  return check_end();
}
