// Resources of this process, for tests that they do not grow. Include it after check.h.
//
//   refuse_huge_pages();  // before check_start
//   const long before = count_entries("/proc/self/fd"), pages = resident_pages();
//   ...
//   require(count_entries("/proc/self/fd") == before, "...");
#ifndef LFC_TESTS_MPI_PROCESS_H
#define LFC_TESTS_MPI_PROCESS_H

#include <dirent.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "check.h"

// Counts the entries of a directory, without . and ..: descriptors of /proc/self/fd, threads of /proc/self/task.
static inline long count_entries(const char* path) {
  long count = 0;
  DIR* directory = opendir(path);
  require(directory != NULL, "cannot list %s", path);
  for (const struct dirent* entry; (entry = readdir(directory)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

// Counts the lines of a file: mappings of /proc/self/maps.
static inline long count_lines(const char* path) {
  long count = 0;
  FILE* file = fopen(path, "r");
  require(file != NULL, "cannot read %s", path);
  for (int c; (c = getc(file)) != EOF;) count += c == '\n';
  fclose(file);
  return count;
}

// If the kernel gives huge pages to all processes, one page more would be 2 MiB more.
static inline void refuse_huge_pages(void) { (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

static inline long resident_pages(void) {
  long size = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  require(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2,
          "cannot read /proc/self/statm");
  fclose(file);
  return resident;
}

#endif
