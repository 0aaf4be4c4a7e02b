// The circumstances of one rank as words, which can be printed, run again, and left out one by one.
//
//   @0 btl_lfc_links=loop,tcp pause=12:0.8 @2 refuse=memfd_create:EPERM @all btl_lfc_connect_timeout=1
//
// Words follow the rank that they concern, or `@all`. Each word is one of
//   NAME=VALUE                 a parameter of Open MPI
//   limit=address|file|files:NUMBER    ulimit -v and -f, both in bytes, and -n
//   refuse=CALL:ERROR          this system call fails with EPERM, ENOSYS or EINVAL; CALL is a name of tests/refuse.h
//   pause=WHEN:SECONDS         the rank computes for so long after its call of MPI number WHEN; also `start` and `end`:
//                              before MPI_Init and before MPI_Finalize
//   stop=WHEN:DELAY:SECONDS    SIGSTOP so many seconds after that call, and SIGCONT so much later
//   then=undumpable|uid        after MPI_Init: no other process may read this one; or another user's process
#ifndef LFC_TESTS_PROGRAMS_CIRCUMSTANCES_WORDS_HPP
#define LFC_TESTS_PROGRAMS_CIRCUMSTANCES_WORDS_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace circumstances {

using Words = std::vector<std::string>;

// Draws the words of one rank. The seed determines which kinds of circumstances a job has; each rank draws its own.
Words drawn(std::uint64_t seed, int rank);

// Returns the words of one rank in a text of the form above.
Words words_of(const std::string& text, int rank);

// Brings the words about in the calling process. False: prints the word that it cannot bring about, and why. The words
// that need the rank's calls of MPI are left in the environment for shim.c, which is loaded from `shim`.
bool bring_about(const Words& words, const std::string& shim);

}  // namespace circumstances

#endif
