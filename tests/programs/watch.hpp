// The report of a program that fails or hangs: its seed, the step, and the call that each rank is in.
#ifndef LFC_TESTS_PROGRAMS_WATCH_HPP
#define LFC_TESTS_PROGRAMS_WATCH_HPP

#include <mpi.h>

#include <cstdint>
#include <string>

namespace programs {

// Starts and ends MPI; the options of all test programs (tests/mpi/check.h).
void watch_start(int* argc, char*** argv, int thread_level);
int watch_end();
long number_option(int argc, char** argv, const char* name, long otherwise);
bool has_option(int argc, char** argv, const char* name);

void watch_program(std::uint64_t seed, unsigned seconds);  // the time it may take starts
void watch_step(int step, const std::string& text);
void watch_window(MPI_Win win);     // its errors are failures, too
void watch_call(const char* call);  // "MPI_Recv from 1"; empty: none
// The calling thread has a step and a call of its own; 0 is the process's first one.
void watch_thread(int thread, std::uint64_t seed);
void watch_thread_end();

[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
void pause_seconds(double seconds);

}  // namespace programs

#endif
