#include "../mpi/check.h"

#include "watch.hpp"

namespace programs {

namespace {
thread_local std::uint64_t program;
thread_local int step_number;
thread_local std::string step_text;

// Every error that MPI returns is a failure of this step.
void on_error(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI says: %s", text);
}
void on_comm_error(MPI_Comm*, int* code, ...) { on_error(*code); }
void on_window_error(MPI_Win*, int* code, ...) { on_error(*code); }
}  // namespace

void watch_window(MPI_Win win) {
  MPI_Errhandler handler;
  MPI_Win_create_errhandler(on_window_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
}

void watch_start(int* argc, char*** argv, int thread_level) {
  check_start(argc, argv, thread_level);
  int provided;
  MPI_Query_thread(&provided);
  if (provided < thread_level) fail("this MPI has no MPI_THREAD_MULTIPLE");
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_comm_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
}
int watch_end() { return check_end(); }

long number_option(int argc, char** argv, const char* name, long otherwise) {
  return ::option(argc, argv, name, otherwise);
}
bool has_option(int argc, char** argv, const char* name) { return ::has_option(argc, argv, name); }

void watch_program(std::uint64_t seed_of_it, unsigned seconds) {
  program = seed_of_it;
  alarm(seconds);
  watch_step(-1, "start");
}

void watch_step(int step, const std::string& text) {
  step_number = step;
  step_text = text;
  watch_call("");
}

void watch_thread(int thread, std::uint64_t seed_of_it) {
  state_slot = thread;
  program = seed_of_it;
  watch_step(-1, "start");
}
void watch_thread_end() { state_line[state_slot][0] = '\0'; }

void watch_call(const char* call) {
  doing("program %llu, step %d (%.160s): %s", static_cast<unsigned long long>(program), step_number,
        step_text.c_str(), call);
}

void fail(const char* format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ::fail("%s; %s", state_line[state_slot], text);
}

void pause_seconds(double seconds) { ::pause_seconds(seconds); }

}  // namespace programs
