// Random programs of ordinary messages on few keys: blocking and other receives into each kind of type, wildcards,
// probes, persistent requests, cancelled and freed receives, receives that are too short, and communicators that are
// freed while receives are active. Each rank sends to the next one and receives from the one before. So the order of
// both alone determines which receive gets which message, by MPI's rules. Each message contains its number, and each
// receive checks it.
#include "check.h"

enum { kTags = 3, kMost = 16, kLargest = 12000, kLongest = 9000 };
enum { kSend, kIsend, kIssend, kBsend, kStart, kVector, kSendKinds };
enum { kRecv, kIrecv, kProbe, kMprobe, kIprobe, kImprobe, kPersistent, kHow };
enum { kBytes, kOffset, kAbsolute, kGaps, kElements, kTypes };

struct message {
  int tag, size, kind;
  bool taken;
  uint64_t number;
};
struct receive {
  int tag;  // or MPI_ANY_TAG
  int how, type, capacity;
  bool any_source, freed, done;
  const struct message* expected;
  unsigned char *memory, *bytes;  // all of it; the first byte of the message
  MPI_Request request;
};

static MPI_Comm comm;
static int to, from;
static uint64_t sends_random, coming_random;  // two ranks draw the same
static uint64_t receives_random, own_random;  // one rank alone
static uint64_t common_random;                // all ranks draw the same
static uint64_t sent_number, expected_number;
static bool leaves;  // the communicator is freed while receives are active
static bool usual;   // receives have no wildcards, and no probes

// The messages of one round; sender and receiver draw the same ones.
static int draw(uint64_t* random, uint64_t* number, struct message* messages) {
  const int count = 1 + (int)random_below(random, kMost - 1);
  const bool quiet = random_below(random, 3) != 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t size = random_below(random, quiet ? 12 : 20);
    messages[i] =
        (struct message){.tag = quiet ? 0 : (int)random_below(random, kTags),
                         .size = (int)(size < 10   ? 8 * random_below(random, 30)
                                       : size < 16 ? 8 * random_below(random, 512)
                                                   : 8 * random_below(random, kLongest / 8)),
                         .kind = (int)random_below(random, quiet ? kIsend + 1 : kSendKinds),
                         .number = ++*number};
  }
  return count;
}

static void send(const struct message* message, unsigned char* bytes, MPI_Request* request) {
  const int size = message->size, tag = message->tag;
  fill(bytes, (size_t)size, key_of(me, to, message->number));
  *request = MPI_REQUEST_NULL;
  MPI_Datatype type;
  doing("send %llu of %d bytes, kind %d", (unsigned long long)message->number, size, message->kind);
  switch (message->kind) {
    case kSend:
      if (size <= 1024) {
        MPI_Send(bytes, size, MPI_BYTE, to, tag, comm);
        break;
      }
    // fall through
    case kIsend: MPI_Isend(bytes, size, MPI_BYTE, to, tag, comm, request); break;
    case kIssend: MPI_Issend(bytes, size, MPI_BYTE, to, tag, comm, request); break;
    case kBsend: MPI_Bsend(bytes, size, MPI_BYTE, to, tag, comm); break;
    case kStart:
      MPI_Send_init(bytes, size, MPI_BYTE, to, tag, comm, request);
      MPI_Start(request);
      break;
    default: {  // every other word
      unsigned char* const wide = bytes + kLargest;
      for (int i = 0; i < size / 8; ++i) memcpy(wide + 16 * i, bytes + 8 * i, 8);
      MPI_Type_vector(size / 8, 8, 16, MPI_BYTE, &type);
      MPI_Type_commit(&type);
      MPI_Isend(wide, 1, type, to, tag, comm, request);
      MPI_Type_free(&type);
    }
  }
}

static struct message* first_of(struct message* messages, int count, int tag) {
  for (int i = 0; i < count; ++i)
    if (!messages[i].taken && (tag == MPI_ANY_TAG || messages[i].tag == tag)) return &messages[i];
  return NULL;
}

// Sets the program's arguments of the receive.
static void describe(struct receive* receive, void** buffer, int* count, MPI_Datatype* type) {
  const int bytes = receive->capacity;
  memset(receive->memory, 0xee, 2 * kLargest);
  receive->bytes = receive->memory + 64;
  *buffer = receive->bytes;
  *count = 1;
  *type = MPI_BYTE;
  MPI_Aint place = 32;
  switch (receive->type) {
    case kOffset:
      MPI_Type_create_hindexed(1, &bytes, &place, MPI_BYTE, type);
      *buffer = receive->bytes - place;
      break;
    case kAbsolute:
      MPI_Get_address(receive->bytes, &place);
      MPI_Type_create_hindexed(1, &bytes, &place, MPI_BYTE, type);
      *buffer = MPI_BOTTOM;
      break;
    case kGaps: MPI_Type_vector(bytes / 8, 8, 16, MPI_BYTE, type); break;
    case kElements:
      MPI_Type_contiguous(8, MPI_BYTE, type);
      *count = bytes / 8;
      break;
    default: *count = bytes; return;
  }
  MPI_Type_commit(type);
}

static void check_bytes(struct receive* receive, size_t size) {
  const uint64_t key = key_of(from, me, receive->expected->number);
  if (receive->type == kGaps)
    for (size_t i = 0; i < size / 8; ++i)
      memmove(receive->bytes + 8 * i, receive->bytes + 16 * i, 8);
  verify(receive->bytes, size, key, from);
  require(receive->type == kGaps || receive->bytes[size] == 0xee, "a byte after message %llu",
          (unsigned long long)receive->expected->number);
  require(receive->bytes[-1] == 0xee, "a byte before message %llu",
          (unsigned long long)receive->expected->number);
}

static void check_status(const MPI_Status* status, const struct message* expected) {
  int count = -1, cancelled = 1;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  require(status->MPI_SOURCE == from && status->MPI_TAG == expected->tag && !cancelled &&
              count == expected->size,
          "message %llu: %d bytes, tag %d, from %d, not %d, %d, %d",
          (unsigned long long)expected->number, count, status->MPI_TAG, status->MPI_SOURCE,
          expected->size, expected->tag, from);
}

// `status` NULL: none.
static void check(struct receive* receive, int error, const MPI_Status* status) {
  const struct message* const expected = receive->expected;
  receive->done = true;
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  const bool fits = expected->size <= receive->capacity;
  require(class == (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE),
          "message %llu: error %d, %d bytes for %d", (unsigned long long)expected->number, class,
          expected->size, receive->capacity);
  if (fits && status != NULL) check_status(status, expected);
  if (fits) check_bytes(receive, (size_t)expected->size);
}

static void post(struct receive* receive) {
  void* buffer;
  int count;
  MPI_Datatype type;
  describe(receive, &buffer, &count, &type);
  const int source = receive->any_source ? MPI_ANY_SOURCE : from, tag = receive->tag;
  MPI_Status status;
  MPI_Message message;
  int flag = 0;
  doing("receive %d of message %llu, tag %d", receive->how,
        (unsigned long long)receive->expected->number, tag);
  receive->request = MPI_REQUEST_NULL;
  receive->done = receive->freed = false;
  switch (receive->how) {
    case kRecv:
    case kProbe:
    case kIprobe:
      if (receive->how == kProbe) MPI_Probe(source, tag, comm, &status);
      while (receive->how == kIprobe && !flag) MPI_Iprobe(source, tag, comm, &flag, &status);
      if (receive->how != kRecv) check_status(&status, receive->expected);
      const int error = MPI_Recv(buffer, count, type, source, tag, comm, &status);
      check(receive, error, &status);
      break;
    case kMprobe:
    case kImprobe:
      if (receive->how == kMprobe) MPI_Mprobe(source, tag, comm, &message, &status);
      while (receive->how == kImprobe && !flag)
        MPI_Improbe(source, tag, comm, &flag, &message, &status);
      check_status(&status, receive->expected);
      MPI_Imrecv(buffer, count, type, &message, &receive->request);
      break;
    case kPersistent:
      MPI_Recv_init(buffer, count, type, source, tag, comm, &receive->request);
      MPI_Start(&receive->request);
      break;
    default:
      MPI_Irecv(buffer, count, type, source, tag, comm, &receive->request);
      if (random_below(&own_random, 30) == 0 && receive->type != kGaps &&
          receive->expected->size <= receive->capacity) {
        MPI_Request_free(&receive->request);
        receive->freed = true;
      }
  }
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

static void draw_receive(struct receive* receive, struct message* messages, int count) {
  struct message* expected = NULL;
  while (expected == NULL) {
    receive->tag = random_below(&receives_random, usual ? 200 : 6) == 0
                       ? MPI_ANY_TAG
                       : (int)random_below(&receives_random, kTags);
    expected = first_of(messages, count, receive->tag);
  }
  expected->taken = true;
  receive->expected = expected;
  receive->any_source = random_below(&receives_random, usual ? 200 : 6) == 0;
  receive->how = usual ? (int)random_below(&receives_random, kIrecv + 1)
                       : (int)random_below(&receives_random, kHow);
  receive->type = usual && random_below(&receives_random, 4) != 0
                      ? kBytes
                      : (int)random_below(&receives_random, kTypes);
  // An error needs a communicator.
  const bool is_short = !leaves && expected->size > 8 && receive->how <= kIrecv &&
                        random_below(&receives_random, usual ? 200 : 10) == 0;
  receive->capacity =
      is_short ? expected->size - 8 : expected->size + 8 * (int)random_below(&receives_random, 4);
}

static bool blocks(const struct receive* receive) {
  return receive->how != kIrecv && receive->how != kPersistent;
}

// Waits for all receives that are left, in one of the ways of MPI.
static void finish(struct receive* receives, int count) {
  MPI_Request requests[kMost];
  MPI_Status statuses[kMost];
  int which[kMost], error, flag = 0, some, places[kMost];
  bool persistent[kMost];
  int n = 0;
  bool too_short = false;
  for (int i = 0; i < count; ++i)
    if (!receives[i].done && !receives[i].freed) {
      too_short = too_short || receives[i].expected->size > receives[i].capacity;
      persistent[n] = receives[i].how == kPersistent;
      which[n] = i;
      requests[n++] = receives[i].request;
    }
  int way = (int)random_below(&own_random, 9);
  if (too_short && way != 6) way = 8;  // Open MPI's other ways lose errors, or hang with threads
  doing("way %d of %d receives", way, n);
  if (way < 2) {
    do {
      error =
          way == 0 ? MPI_Waitall(n, requests, statuses) : MPI_Testall(n, requests, &flag, statuses);
    } while (way == 1 && !flag && error == MPI_SUCCESS);
    for (int k = 0; k < n; ++k) {
      check(&receives[which[k]], error == MPI_ERR_IN_STATUS ? statuses[k].MPI_ERROR : error,
            &statuses[k]);
    }
    require(error == MPI_SUCCESS || error == MPI_ERR_IN_STATUS, "error %d of all", error);
  } else if (way < 4) {
    for (int left = n; left > 0;) {
      error = way == 2 ? MPI_Waitsome(n, requests, &some, places, statuses)
                       : MPI_Testsome(n, requests, &some, places, statuses);
      for (int k = 0; k < some; ++k, --left)
        check(&receives[which[places[k]]],
              error == MPI_ERR_IN_STATUS ? statuses[k].MPI_ERROR : error, &statuses[k]);
    }
  } else if (way < 6) {
    for (int left = n; left > 0;) {
      flag = 1;
      error = way == 4 ? MPI_Waitany(n, requests, &places[0], &statuses[0])
                       : MPI_Testany(n, requests, &places[0], &flag, &statuses[0]);
      if (!flag && error == MPI_SUCCESS) continue;
      check(&receives[which[places[0]]], error, &statuses[0]);
      --left;
    }
  } else {
    for (int k = 0; k < n; ++k) {
      flag = 0;
      if (way == 6) {
        error = MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        check(&receives[which[k]], error, NULL);
        continue;
      }
      error = MPI_SUCCESS;
      while (way == 7 && !flag) MPI_Request_get_status(requests[k], &flag, &statuses[k]);
      for (flag = 0; !flag && error == MPI_SUCCESS;)
        error = MPI_Test(&requests[k], &flag, &statuses[k]);
      check(&receives[which[k]], error, &statuses[k]);
    }
  }
  for (int k = 0; k < n; ++k) {
    if (persistent[k] && requests[k] != MPI_REQUEST_NULL) MPI_Request_free(&requests[k]);
    require(requests[k] == MPI_REQUEST_NULL, "a request is left, way %d", way);
  }
  for (int i = 0; i < count; ++i)
    if (receives[i].freed) {
      struct receive* const receive = &receives[i];
      const size_t size = (size_t)receive->expected->size;
      doing("freed receive of message %llu", (unsigned long long)receive->expected->number);
      while (first_wrong(receive->bytes, size, key_of(from, me, receive->expected->number)) < size)
        MPI_Iprobe(MPI_ANY_SOURCE, kTags + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

// Receives that no message has been sent for can be cancelled. Later messages must not go to them.
static void cancel_some(void) {
  unsigned char in[3][64];
  MPI_Request requests[3];
  const int tag = (int)random_below(&own_random, kTags);
  for (int i = 0; i < 3; ++i)
    MPI_Irecv(in[i], 64, MPI_BYTE, i == 1 && !usual ? MPI_ANY_SOURCE : from, tag, comm,
              &requests[i]);
  for (int i = 2; i >= 0; --i) {
    const int which = (i + 1) % 3;
    MPI_Status status;
    int cancelled = 0;
    doing("cancelled receive of tag %d", tag);
    MPI_Cancel(&requests[which]);
    MPI_Wait(&requests[which], &status);
    MPI_Test_cancelled(&status, &cancelled);
    require(cancelled, "a receive of tag %d was not cancelled", tag);
  }
}

static void make_comm(void) {
  doing("new communicator");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

static void run_round(void) {
  static unsigned char out[kMost][3 * kLargest], in[kMost][2 * kLargest + 64];
  static struct message sent[kMost], coming[kMost];
  static struct receive receives[kMost];
  MPI_Request requests[kMost];
  const int sends = draw(&sends_random, &sent_number, sent);
  const int count = draw(&coming_random, &expected_number, coming);
  usual = random_below(&receives_random, 3) != 0;
  leaves = random_below(&common_random, 12) == 0;
  const bool cancels = random_below(&common_random, 8) == 0;
  if (random_below(&own_random, 8) == 0)
    pause_seconds(1e-6 * (double)random_below(&own_random, 300));
  int posted = 0, received = 0;
  while (posted < sends || received < count) {
    struct receive* const receive = &receives[received];
    const bool sends_now =
        posted < sends && (received == count || random_below(&own_random, 2) == 0);
    if (!sends_now) {
      receive->memory = in[received++];
      draw_receive(receive, coming, count);
    }
    // A rank that waits for a message has sent all of its own.
    while (posted < sends && (sends_now || blocks(receive))) {
      send(&sent[posted], out[posted], &requests[posted]);
      ++posted;
      if (sends_now) break;
    }
    if (!sends_now) post(receive);
  }
  if (leaves) {
    doing("communicator that is freed");
    MPI_Comm_free(&comm);
  }
  finish(receives, count);
  doing("end of sends");
  for (int i = 0; i < sends; ++i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
  }
  if (leaves) make_comm();
  if (cancels) {
    MPI_Barrier(MPI_COMM_WORLD);
    cancel_some();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  static unsigned char buffered[4 << 20];
  MPI_Buffer_attach(buffered, sizeof buffered);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  to = (me + 1) % ranks;
  from = (me + ranks - 1) % ranks;
  sends_random = scramble(seed * 1000 + (uint64_t)me);
  coming_random = scramble(seed * 1000 + (uint64_t)from);
  receives_random = scramble(seed * 7919 + (uint64_t)me);
  own_random = scramble(seed * 104729 + (uint64_t)me);
  common_random = scramble(seed);
  const long rounds = option(argc, argv, "--rounds", long_run ? 20000 : 500);
  make_comm();
  for (long i = 0; i < rounds; ++i) run_round();
  MPI_Comm_free(&comm);
  return check_end();
}
