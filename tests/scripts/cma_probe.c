/* Does memory of a process on one host of the lab come within reach of another host?
 *   cma_probe hold     put a secret at a fixed address and sleep
 *   cma_probe seek     try process_vm_readv on every process id; prints how many secrets it could
 * read
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static void* const kPlace = (void*)0x100000000000;
static const uint64_t kSecret = 0x1FC05EC2E75EC2E7;

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "hold") == 0) {
    uint64_t* page = mmap(kPlace, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED) return 1;
    *page = kSecret;
    puts("holding");
    fflush(stdout);
    sleep(60);
    return 0;
  }
  int found = 0;
  for (int pid = 1; pid < 100000; ++pid) {
    uint64_t value = 0;
    struct iovec local = {&value, sizeof value}, remote = {kPlace, sizeof value};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof value && value == kSecret)
      ++found;
  }
  printf("found %d\n", found);
  return 0;
}
