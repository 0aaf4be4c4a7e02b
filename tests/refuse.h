/* refuse_calls: lets the kernel refuse system calls to this process and to its children, as a container's seccomp
 * filter does.
 *
 *   if (!refuse_calls("process_vm_readv,F_GET_SEALS", EPERM)) ...  // unknown name, or a kernel without seccomp
 *
 * A refused call fails with the given errno. A filter cannot be taken back. It concerns the calling thread and all
 * threads and processes that begin later; with `all_threads` also those that already run. To be included first.
 */
#ifndef LFC_TESTS_REFUSE_H
#define LFC_TESTS_REFUSE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct refused_call {
  const char* name;
  long number;
  int argument; /* the second argument that is refused; -1: all */
};

/* Returns the row of a name of `size` bytes; NULL: there is none. */
static inline const struct refused_call* find_refused_call(const char* name, size_t size) {
  static const struct refused_call calls[] = {
      {"clone3", SYS_clone3, -1},
      {"epoll_create1", SYS_epoll_create1, -1},
      {"eventfd2", SYS_eventfd2, -1},
      {"fallocate", SYS_fallocate, -1},
      {"getrandom", SYS_getrandom, -1},
      {"kill", SYS_kill, -1},
      {"madvise", SYS_madvise, -1},
      {"membarrier", SYS_membarrier, -1},
      {"memfd_create", SYS_memfd_create, -1},
      {"pidfd_open", SYS_pidfd_open, -1},
      {"process_vm_readv", SYS_process_vm_readv, -1},
      {"process_vm_writev", SYS_process_vm_writev, -1},
      {"sched_getaffinity", SYS_sched_getaffinity, -1},
      {"sched_setaffinity", SYS_sched_setaffinity, -1},
      {"socket", SYS_socket, -1},
      {"timerfd_create", SYS_timerfd_create, -1},
      {"F_ADD_SEALS", SYS_fcntl, F_ADD_SEALS},
      {"F_GET_SEALS", SYS_fcntl, F_GET_SEALS},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
    if (strlen(calls[i].name) == size && strncmp(calls[i].name, name, size) == 0) return &calls[i];
  return NULL;
}

/* `names`: separated by commas. */
static inline bool refuse_calls_of(const char* names, int error, bool all_threads) {
  enum { kMost = 120 };
  struct sock_filter code[kMost];
  unsigned short used = 0;
  while (*names != '\0') {
    const size_t size = strcspn(names, ",");
    const struct refused_call* call = find_refused_call(names, size);
    if (call == NULL || used + 6 > kMost) return errno = EINVAL, false;
    const struct sock_filter part[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | (call->argument < 0 ? BPF_JGE : BPF_JEQ) | BPF_K,
                 call->argument < 0 ? 0u : (unsigned)call->argument, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
    };
    memcpy(code + used, part, sizeof part);
    used += sizeof part / sizeof part[0];
    names += size + (names[size] == ',');
  }
  code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {used, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                 &filter) == 0;
}

static inline bool refuse_calls(const char* names, int error) {
  return refuse_calls_of(names, error, false);
}

#endif
