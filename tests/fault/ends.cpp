// How a process ends, in each phase of MPI: tests/fault/ends.sh compares the exit statuses with those over Open MPI's
// own transports.
//   fault_ends PHASE END       all ranks end so, in this phase
//   fault_ends children        in all phases a child of each rank ends in each way, and the job goes on
//
// PHASE: before (MPI_Init), running (messages have passed), epoch (a put to a window is under way), collective (one
// without blocking is under way, which the last rank has not begun), finalized.
// END: one of kEnds; or, in the phase running, static or atexit: MPI_Finalize runs while the process exits.
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "check.h"

namespace {

constexpr int kStatus = 7;
constexpr char kAfterExec[] = "after-exec";

std::string_view chosen_phase, chosen_end;

void finalize() {
  int sum = 0;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == ranks * (ranks - 1) / 2, "the sum is %d", sum);
  doing("MPI_Finalize");
  MPI_Finalize();
  if (me == 0) say("ok\n", 3);
}

// Constructed before main(), so destroyed after all objects that MPI_Init makes.
struct Environment {
  bool finalizes = false;
  ~Environment() {
    if (finalizes) finalize();
  }
} environment;

void end_by_exec() {
  char program[] = "/proc/self/exe", name[] = "fault_ends";
  char* const arguments[] = {name, const_cast<char*>(kAfterExec), nullptr};
  execv(program, arguments);
  _exit(1);
}

// The other thread ends the process, when the main thread has ended.
void end_main_thread() {
  static pthread_t main_thread = pthread_self();
  pthread_t other;
  pthread_create(
      &other, nullptr,
      [](void*) -> void* {
        pthread_join(main_thread, nullptr);
        exit(kStatus);
      },
      nullptr);
  pthread_exit(nullptr);
}

// No handler catches it, so the program is terminated.
void throw_error() { throw std::runtime_error("thrown on purpose"); }
void end_by_throw() noexcept { throw_error(); }

struct End {
  std::string_view name;
  void (*call)();
  int signal;  // that ends the process; 0: it exits with kStatus
};
constexpr std::array kEnds{
    End{"exit", [] { exit(kStatus); }, 0},
    End{"_exit", [] { _exit(kStatus); }, 0},
    End{"abort", [] { abort(); }, SIGABRT},
    End{"throw", [] { end_by_throw(); }, SIGABRT},
    End{"exec", end_by_exec, 0},
    End{"pthread_exit", end_main_thread, 0},
};

void end_child(const End& end) {
  const pid_t child = fork();
  if (child == 0) {
    freopen("/dev/null", "w", stderr);
    alarm(20);
    end.call();
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool expected = end.signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == end.signal
                                        : WIFEXITED(status) && WEXITSTATUS(status) == kStatus;
  require(expected, "a child that ends by %s has the status 0x%x", end.name.data(), status);
}

void enter(std::string_view phase) {
  doing("%s in the phase %s", chosen_end.data(), phase.data());
  for (const End& end : kEnds) {
    if (chosen_phase == "children") end_child(end);
    if (chosen_phase == phase && chosen_end == end.name) end.call();
  }
}

void send_around(int size) {
  std::string out(static_cast<std::size_t>(size), 'x'), in(out.size(), '\0');
  MPI_Sendrecv(out.data(), size, MPI_BYTE, (me + 1) % ranks, 0, in.data(), size, MPI_BYTE,
               (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  require(in == out, "a message of %d bytes is wrong", size);
}

void pass_epoch() {
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Put(&me, 1, MPI_INT, (me + 1) % ranks, 0, 1, MPI_INT, win);
  enter("epoch");
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  require(*memory == (me + ranks - 1) % ranks, "the window has %d", *memory);
  MPI_Win_free(&win);
}

void pass_collective() {
  MPI_Request request = MPI_REQUEST_NULL;
  int sum = 0;
  const auto begin = [&] {
    MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  };
  if (me != ranks - 1) begin();
  enter("collective");
  if (me == ranks - 1) begin();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(sum == ranks * (ranks - 1) / 2, "the sum of ranks is %d", sum);
}

// The number of open files that a program inherits by exec.
int inherited() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  chosen_phase = argc > 1 ? argv[1] : "";
  chosen_end = argc > 2 ? argv[2] : "";
  if (chosen_phase == kAfterExec) {
    std::fprintf(stderr, "inherited %d\n", inherited());
    return kStatus;
  }
  enter("before");
  if (chosen_end == "atexit") atexit(finalize);
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  send_around(8);
  send_around(200000);
  environment.finalizes = chosen_end == "static";
  if (environment.finalizes || chosen_end == "atexit") return 0;
  enter("running");
  pass_epoch();
  pass_collective();
  send_around(200000);
  finalize();
  enter("finalized");
  return 0;
}
