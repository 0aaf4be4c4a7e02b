/* pace.so: limits each TCP connection of a program to PACE_BYTES bytes a second, as a network that limits
 * each flow does.
 *
 *   LD_PRELOAD=.../libpace.so PACE_BYTES=125000000 ./app
 *
 * Accepted sockets inherit the limit from the listening one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol) {
  int (*make)(int, int, int);
  *(void**)&make = dlsym(RTLD_NEXT, "socket"); /* as POSIX has it */
  const int made = make(domain, type, protocol);
  const char* said = getenv("PACE_BYTES");
  const unsigned long rate = said == NULL ? 0 : strtoul(said, NULL, 10);
  if (made >= 0 && rate != 0 && (domain == AF_INET || domain == AF_INET6) &&
      (type & SOCK_STREAM) != 0)
    setsockopt(made, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
  return made;
}
