// A thread that has completed a request does not read it any more, because another one, in MPI_Waitany or MPI_Test,
// may have freed it. The request lies across two pages, its status on the first. Nothing can be written to the second,
// so the write that completes the request faults. Then the first page is taken away, as by the other thread, and the
// write goes on.
#include "completion.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char* pages;
static size_t page;
static volatile sig_atomic_t faults;

static void end_with(const char* text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
  _exit(1);
}

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  const unsigned char* const at = info->si_addr;
  if (faults++ != 0 || at < pages + page || at >= pages + 2 * page)
    end_with("FAIL freed_request: a request was read after it was completed\n");
  (void)mprotect(pages + page, page, PROT_READ | PROT_WRITE);
  (void)mprotect(pages, page, PROT_NONE);
}

static void require(bool holds, const char* text) {
  if (!holds) end_with(text);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  page = (size_t)sysconf(_SC_PAGESIZE);
  pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(pages != MAP_FAILED, "FAIL freed_request: mmap\n");
  ompi_request_t* const request =
      (ompi_request_t*)(void*)(pages + page - offsetof(ompi_request_t, req_complete));
  ompi_wait_sync_t sync;
  WAIT_SYNC_INIT(&sync, 1);
  request->req_status.MPI_ERROR = MPI_ERR_TRUNCATE;
  request->req_complete = &sync;

  struct sigaction catching;
  struct sigaction before;
  memset(&catching, 0, sizeof catching);
  catching.sa_sigaction = on_fault;
  catching.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &catching, &before);
  (void)mprotect(pages + page, page, PROT_READ);
  lfc_complete_request(request);
  sigaction(SIGSEGV, &before, NULL);

  require(faults == 1, "FAIL freed_request: nothing was written\n");
  require(REQUEST_COMPLETE(request), "FAIL freed_request: the request is not complete\n");
  require(sync.count == 0 && sync.status != OPAL_SUCCESS,
          "FAIL freed_request: the thread that waits did not get the error\n");
  munmap(pages, 2 * page);
  MPI_Finalize();
  if (rank == 0) printf("ok\n");
  return 0;
}
