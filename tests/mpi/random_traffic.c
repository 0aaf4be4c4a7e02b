// A random programme of messages among all pairs. All ranks draw the same one from the seed: sizes over all
// protocols, all send modes, posted or late or wildcard receives, few or many outstanding. --seed N replays one. No
// deadlock is possible: events have one order that all ranks follow, and each rank waits only for its oldest event.
// So the oldest event of all always has both sides posted. --until FILE: it ends when rank 0 has seen that file.
// Rank 0 prints "at work" after the first thousand events.
#include <sys/stat.h>

#include "check.h"

enum { kWindow = 24, kLargest = 300000, kTags = 30000, kBetweenLooks = 1000 };

typedef struct {
  int from, to, tag, size, mode;
  bool any_source, probe_first;
} Event;

typedef struct {
  MPI_Request request;
  unsigned char* data;
  Event event;
  uint64_t number;
  bool receiving;
} Pending;

static Event draw(uint64_t* random, uint64_t number) {
  Event event;
  event.from = (int)random_below(random, (uint64_t)ranks);
  event.to = (int)random_below(random, (uint64_t)ranks);
  event.tag = (int)(number % kTags);
  const uint64_t kind = random_below(random, 20), spread = next_random(random);
  event.size = (int)(kind < 10   ? spread % 128
                     : kind < 14 ? spread % 4200
                     : kind < 17 ? 3900 + spread % 400
                     : kind < 19 ? spread % 70000
                                 : spread % kLargest);
  event.mode = (int)random_below(random, 6);
  event.any_source = random_below(random, 4) == 0;
  event.probe_first = random_below(random, 8) == 0;
  return event;
}

static void finish(Pending* pending) {
  if (pending->data == NULL) return;
  const Event* event = &pending->event;
  MPI_Status status;
  doing("event %llu: %s of %d bytes, %d to %d, mode %d", (unsigned long long)pending->number,
        pending->receiving ? "receive" : "send", event->size, event->from, event->to, event->mode);
  MPI_Wait(&pending->request, &status);
  if (pending->receiving) {
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == event->size && status.MPI_SOURCE == event->from,
            "event %llu: %d bytes from %d, not %d from %d", (unsigned long long)pending->number,
            count, status.MPI_SOURCE, event->size, event->from);
    verify(pending->data, (size_t)event->size, key_of(event->from, event->to, pending->number),
           event->from);
  }
  free(pending->data);
  pending->data = NULL;
}

static void post_receive(Pending* pending) {
  const Event* event = &pending->event;
  const int source = event->any_source ? MPI_ANY_SOURCE : event->from;
  pending->receiving = true;
  // A probe blocks until the message is there; to oneself the send has not been posted yet.
  if (event->probe_first && event->from != me) {
    MPI_Status status;
    int count = -1;
    doing("event %llu: probe for %d bytes from %d", (unsigned long long)pending->number,
          event->size, event->from);
    MPI_Probe(source, event->tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == event->size, "event %llu: probed %d bytes from %d, not %d",
            (unsigned long long)pending->number, count, status.MPI_SOURCE, event->size);
  }
  MPI_Irecv(pending->data, event->size, MPI_BYTE, source, event->tag, MPI_COMM_WORLD,
            &pending->request);
}

static void post_send(Pending* pending) {
  const Event* event = &pending->event;
  fill(pending->data, (size_t)event->size, key_of(event->from, event->to, pending->number));
  pending->receiving = false;
  pending->request = MPI_REQUEST_NULL;
  doing("event %llu: send of %d bytes, %d to %d, mode %d", (unsigned long long)pending->number,
        event->size, event->from, event->to, event->mode);
  const int n = event->size, to = event->to, tag = event->tag;
  switch (event->mode) {
    case 0: MPI_Send(pending->data, n, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    case 1: MPI_Ssend(pending->data, n, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    case 2:
      MPI_Issend(pending->data, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &pending->request);
      break;
    default: MPI_Isend(pending->data, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &pending->request);
  }
}

// Whether rank 0 has seen the file: the same on all ranks.
static bool is_over(const char* until, uint64_t events) {
  struct stat about;
  int over = me == 0 && stat(until, &about) == 0;
  doing("end after %llu events", (unsigned long long)events);
  MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (me == 0 && events == kBetweenLooks) {
    printf("at work\n");
    fflush(stdout);
  }
  return over;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const char* until = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--until") == 0) until = argv[i + 1];
  Pending window[kWindow];
  for (int i = 0; i < kWindow; ++i) window[i].data = NULL;
  uint64_t random = seed,
           events = (uint64_t)option(argc, argv, "--events", long_run ? 1000000 : 12000);
  int next = 0;
  for (uint64_t number = 0; number < events; ++number) {
    if (until != NULL && number > 0 && number % kBetweenLooks == 0 && is_over(until, number)) break;
    const Event event = draw(&random, number);
    // The receive first: a message to oneself may be sent by a blocking call.
    for (int side = 0; side < 2; ++side) {
      if ((side == 0 ? event.to : event.from) != me) continue;
      Pending* pending = &window[next++ % kWindow];
      finish(pending);
      pending->event = event;
      pending->number = number;
      pending->data = allocate((size_t)event.size);
      if (side == 0)
        post_receive(pending);
      else
        post_send(pending);
    }
  }
  for (int i = 0; i < kWindow; ++i) finish(&window[(next + i) % kWindow]);
  return check_end();
}
