// Random programs of persistent, ordinary, wildcard, probed, cancelled and freed operations on few tags. Each rank
// sends to the next one and receives from the one before. So the order of both alone determines which receive gets
// which message. Each message contains its number, and each receive checks the number.
#include "check.h"

enum { kTags = 3, kSends = 3, kReceives = 3, kMost = 14, kLongest = 9000 };

struct message {
  int tag, size;
  int slot;  // of a persistent send; -1: ordinary
  bool taken;
  uint64_t number;
};
struct receive {
  int tag;   // or MPI_ANY_TAG
  int slot;  // of a persistent receive; -1: ordinary
  const struct message* expected;
  unsigned char* in;
  MPI_Request request;
};

static const int sizes[kSends] = {8, 1000, 6000};

static MPI_Comm comm;
static int to, from;
static uint64_t sends_random, receives_random, own_random;
static unsigned usual;  // one of so many receives has a wildcard, or is not persistent
static uint64_t sent_number, expected_number;

static MPI_Request sends[kTags][kSends], receives[kTags + 1][kReceives];  // the last row: any tag
static unsigned char out[kTags][kSends][kLongest], in[kTags + 1][kReceives][kLongest];
static unsigned char ordinary_out[kMost][kLongest], ordinary_in[kMost][kLongest];

static unsigned pick(uint64_t* state, unsigned below) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (unsigned)((*state >> 20) % below);
}

// The messages of one round; sender and receiver draw the same ones.
static int draw(uint64_t* random, uint64_t* number, struct message* messages) {
  const int count = 1 + (int)pick(random, kMost - 1);
  const bool quiet = pick(random, 3) != 0;  // persistent ones only, of one size and tag
  bool used[kTags][kSends] = {{false}};
  for (int i = 0; i < count; ++i) {
    struct message* message = &messages[i];
    message->tag = quiet ? 0 : (int)pick(random, kTags);
    const int slot = (int)pick(random, quiet ? 2 : kSends);
    const bool ordinary = used[message->tag][slot] || (!quiet && pick(random, 4) == 0);
    if (quiet && ordinary && i > 0) return i;
    message->slot = ordinary ? -1 : slot;
    message->size = sizes[slot];
    message->taken = false;
    message->number = ++*number;
    if (!ordinary) used[message->tag][slot] = true;
  }
  return count;
}

static void send(const struct message* message, int index, MPI_Request* request) {
  unsigned char* bytes = message->slot < 0 ? ordinary_out[index] : out[message->tag][message->slot];
  fill(bytes, (size_t)message->size, key_of(me, to, message->number));
  if (message->slot < 0) {
    MPI_Isend(bytes, message->size, MPI_BYTE, to, message->tag, comm, request);
  } else {
    MPI_Start(&sends[message->tag][message->slot]);
    *request = MPI_REQUEST_NULL;
  }
}

static const struct message* first_of(struct message* messages, int count, int tag) {
  for (int i = 0; i < count; ++i)
    if (!messages[i].taken && (tag == MPI_ANY_TAG || messages[i].tag == tag)) {
      messages[i].taken = true;
      return &messages[i];
    }
  return NULL;
}

static void check(const struct receive* receive, const MPI_Status* status) {
  int size = 0;
  MPI_Get_count(status, MPI_BYTE, &size);
  require(status->MPI_SOURCE == from && status->MPI_TAG == receive->expected->tag &&
              size == receive->expected->size,
          "%d bytes of tag %d from %d, not %d bytes of tag %d (number %llu)", size, status->MPI_TAG,
          status->MPI_SOURCE, receive->expected->size, receive->expected->tag,
          (unsigned long long)receive->expected->number);
  verify(receive->in, (size_t)size, key_of(from, me, receive->expected->number), from);
}

// Begins the next receive, and completes it if it must not stay pending.
static void begin_receive(struct message* messages, int count, struct receive* receive, int index,
                          bool may_block, bool (*used)[kReceives]) {
  receive->tag = (int)pick(&own_random, usual) == 0
                     ? MPI_ANY_TAG
                     : messages[pick(&own_random, (unsigned)count)].tag;
  receive->expected = first_of(messages, count, receive->tag);
  if (receive->expected == NULL)
    receive->expected = first_of(messages, count, receive->tag = MPI_ANY_TAG);
  const int source = pick(&own_random, usual) == 0 ? MPI_ANY_SOURCE : from;
  const int row = receive->tag == MPI_ANY_TAG ? kTags : receive->tag;
  receive->slot = -1;
  receive->request = MPI_REQUEST_NULL;
  for (int slot = 0; slot < kReceives; ++slot)
    if (!used[row][slot]) receive->slot = slot;
  const unsigned way = pick(&own_random, 2 * usual);
  MPI_Status status;
  if (receive->slot >= 0 && way >= 3) {
    receive->in = in[row][receive->slot];
    used[row][receive->slot] = true;
    MPI_Start(&receives[row][receive->slot]);
    return;
  }
  receive->slot = -1;
  receive->in = ordinary_in[index];
  if (may_block && way == 0) {
    MPI_Recv(receive->in, kLongest, MPI_BYTE, source, receive->tag, comm, &status);
    check(receive, &status);
    receive->expected = NULL;
  } else if (may_block && way == 1) {
    MPI_Message found;
    MPI_Mprobe(source, receive->tag, comm, &found, MPI_STATUS_IGNORE);
    MPI_Mrecv(receive->in, kLongest, MPI_BYTE, &found, &status);
    check(receive, &status);
    receive->expected = NULL;
  } else {
    MPI_Irecv(receive->in, kLongest, MPI_BYTE, source, receive->tag, comm, &receive->request);
  }
}

static void end_receive(struct receive* receive) {
  if (receive->expected == NULL) return;
  const int row = receive->tag == MPI_ANY_TAG ? kTags : receive->tag;
  MPI_Request* request = receive->slot < 0 ? &receive->request : &receives[row][receive->slot];
  MPI_Status status;
  int done = 0;
  switch (pick(&own_random, 3)) {
    case 0:
      while (!done) MPI_Test(request, &done, &status);
      break;
    case 1: {
      int index = 0;
      MPI_Waitany(1, request, &index, &status);
      break;
    }
    default: MPI_Wait(request, &status);
  }
  check(receive, &status);
}

static void round_of(int number) {
  struct message coming[kMost], leaving[kMost];
  struct receive under_way[kMost];
  MPI_Request ordinary[kMost];
  bool used[kTags + 1][kReceives] = {{false}};
  const int leave = draw(&sends_random, &sent_number, leaving);
  const int come = draw(&receives_random, &expected_number, coming);
  int left = 0, begun = 0;
  doing("round %d: %d messages leave, %d come", number, leave, come);
  while (left < leave || begun < come) {
    if (begun == come || (left < leave && pick(&own_random, 2) == 0)) {
      send(&leaving[left], left, &ordinary[left]);
      ++left;
    } else {
      begin_receive(coming, come, &under_way[begun], begun, left == leave, used);
      ++begun;
    }
    int flag;
    if (pick(&own_random, 8) == 0) MPI_Iprobe(from, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < come; ++i) end_receive(&under_way[i]);
  MPI_Waitall(leave, ordinary, MPI_STATUSES_IGNORE);
  for (int tag = 0; tag < kTags; ++tag) MPI_Waitall(kSends, sends[tag], MPI_STATUSES_IGNORE);
}

static void make_receive(int row, int slot) {
  MPI_Recv_init(in[row][slot], kLongest, MPI_BYTE,
                row == kTags && slot == 0 ? MPI_ANY_SOURCE : from, row == kTags ? MPI_ANY_TAG : row,
                comm, &receives[row][slot]);
}

// Nothing is under way: a cancelled receive gets nothing, and a freed receive is the first to get a message.
static void cancel_and_free(void) {
  MPI_Barrier(comm);
  const int slot = (int)pick(&own_random, kReceives);
  MPI_Status status;
  int cancelled = 0;
  doing("cancel");
  MPI_Startall(kReceives, receives[0]);
  MPI_Cancel(&receives[0][slot]);
  MPI_Wait(&receives[0][slot], &status);
  MPI_Test_cancelled(&status, &cancelled);
  require(cancelled, "a receive that cannot match was not cancelled");
  doing("free");
  for (int i = 0; i < kReceives; ++i) {
    if (i == slot) continue;
    MPI_Cancel(&receives[0][i]);
    MPI_Wait(&receives[0][i], MPI_STATUS_IGNORE);
  }
  MPI_Start(&receives[0][slot]);
  MPI_Request_free(&receives[0][slot]);
  MPI_Barrier(comm);
  struct message message = {.tag = 0, .size = sizes[0], .slot = 0, .number = ++sent_number};
  MPI_Request request;
  send(&message, 0, &request);
  MPI_Wait(&sends[0][0], MPI_STATUS_IGNORE);
  unsigned char last = 0;
  MPI_Sendrecv(&last, 1, MPI_BYTE, to, kTags, &last, 1, MPI_BYTE, from, kTags, comm,
               MPI_STATUS_IGNORE);
  verify(in[0][slot], (size_t)sizes[0], key_of(from, me, ++expected_number), from);
  make_receive(0, slot);
  MPI_Barrier(comm);
}

static void program(uint64_t which, int rounds) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  sends_random = UINT64_C(0x9e3779b97f4a7c15) * (which * 64 + (unsigned)me + 1);
  receives_random = UINT64_C(0x9e3779b97f4a7c15) * (which * 64 + (unsigned)from + 1);
  own_random = sends_random ^ 0x5555;
  usual = which % 2 == 0 ? 6 : 100;
  for (int tag = 0; tag < kTags; ++tag)
    for (int i = 0; i < kSends; ++i)
      MPI_Send_init(out[tag][i], sizes[i], MPI_BYTE, to, tag, comm, &sends[tag][i]);
  for (int row = 0; row <= kTags; ++row)
    for (int slot = 0; slot < kReceives; ++slot) make_receive(row, slot);
  for (int number = 0; number < rounds; ++number) {
    round_of(number);
    if (number % 16 == 15) cancel_and_free();
  }
  for (int tag = 0; tag < kTags; ++tag)
    for (int i = 0; i < kSends; ++i) MPI_Request_free(&sends[tag][i]);
  for (int row = 0; row <= kTags; ++row)
    for (int slot = 0; slot < kReceives; ++slot) MPI_Request_free(&receives[row][slot]);
  MPI_Comm_free(&comm);
}

// A message longer than the receive that waits for it.
static void truncation(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request send_request, receive_request, long_request;
  MPI_Send_init(out[0][0], 8, MPI_BYTE, to, 0, comm, &send_request);
  MPI_Send_init(out[0][1], 16, MPI_BYTE, to, 0, comm, &long_request);
  MPI_Recv_init(in[0][0], 8, MPI_BYTE, from, 0, comm, &receive_request);
  for (int i = 0; i < 40; ++i) {
    const bool too_long = i % 10 == 9;
    MPI_Start(&receive_request);
    MPI_Barrier(comm);
    MPI_Start(too_long ? &long_request : &send_request);
    const int status = MPI_Wait(&receive_request, MPI_STATUS_IGNORE);
    int class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) MPI_Error_class(status, &class);
    require(class == (too_long ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%d: error class %d", i, class);
    MPI_Wait(too_long ? &long_request : &send_request, MPI_STATUS_IGNORE);
    if (receive_request == MPI_REQUEST_NULL) /* Open MPI frees what has ended with an error */
      MPI_Recv_init(in[0][0], 8, MPI_BYTE, from, 0, comm, &receive_request);
  }
  MPI_Request_free(&send_request);
  MPI_Request_free(&long_request);
  MPI_Request_free(&receive_request);
  MPI_Comm_free(&comm);
}

// A receive is cancelled after its message has come: it is too late.
static void late_cancel(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Request send_request, receive_request;
  MPI_Send_init(out[0][0], sizes[0], MPI_BYTE, to, 0, comm, &send_request);
  MPI_Recv_init(in[0][0], sizes[0], MPI_BYTE, from, 0, comm, &receive_request);
  for (uint64_t i = 0; i < 20; ++i) {
    doing("late cancel: message %d", (int)i);
    fill(out[0][0], (size_t)sizes[0], key_of(me, to, i));
    MPI_Start(&receive_request);
    MPI_Barrier(comm);
    MPI_Start(&send_request);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, to, 1, NULL, 0, MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE);
    MPI_Status status;
    int cancelled = 1;
    MPI_Cancel(&receive_request);
    MPI_Wait(&receive_request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    require(!cancelled, "a receive that had its message was cancelled");
    verify(in[0][0], (size_t)sizes[0], key_of(from, me, i), from);
    MPI_Wait(&send_request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&send_request);
  MPI_Request_free(&receive_request);
  MPI_Comm_free(&comm);
}

// Open MPI's ob1 adds the processes a second time; the order of messages, to which channels belong, continues.
static void intercommunicator(void) {
  MPI_Comm own, inter;
  MPI_Request send_request, receive_request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Send_init(out[0][0], 8, MPI_BYTE, to, 0, comm, &send_request);
  MPI_Recv_init(in[0][0], 8, MPI_BYTE, from, 0, comm, &receive_request);
  MPI_Comm_split(comm, me == 0, me, &own);
  for (int i = 0; i < 20; ++i) {
    doing("intercommunicator: message %d", i);
    MPI_Start(&send_request);
    MPI_Barrier(comm);  // it comes before its receive, and so goes to ob1
    MPI_Start(&receive_request);
    MPI_Wait(&send_request, MPI_STATUS_IGNORE);
    MPI_Wait(&receive_request, MPI_STATUS_IGNORE);
    if (i != 10) continue;
    doing("intercommunicator: create");
    MPI_Intercomm_create(own, 0, comm, me == 0 ? 1 : 0, 1, &inter);
    MPI_Comm_free(&inter);
  }
  MPI_Request_free(&send_request);
  MPI_Request_free(&receive_request);
  MPI_Comm_free(&own);
  MPI_Comm_free(&comm);
}

// Afterwards the LFC engines are connected, whichever component carries messages.
static void meet_by_window(void) {
  long there = 0, value = me;
  MPI_Win window;
  doing("window");
  MPI_Win_create(&there, sizeof there, sizeof there, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  require(there == from, "%ld was put, not %d", there, from);
  MPI_Win_free(&window);
}

// Beside other work each exchange may cost a slice of the processor's time, with any transport. Then fewer programs
// run, but both usual and unusual ones. All ranks use the clock of one rank.
static bool another(uint64_t done, uint64_t programs, double until) {
  int more = done < programs && (done < 4 || MPI_Wtime() < until);
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  to = (me + 1) % ranks;
  from = (me - 1 + ranks) % ranks;
  if (has_option(argc, argv, "--window")) meet_by_window();
  truncation();
  late_cancel();
  intercommunicator();
  const uint64_t programs = (uint64_t)option(argc, argv, "--programs", long_run ? 10000 : 40);
  const double until = MPI_Wtime() + (double)option(argc, argv, "--seconds", long_run ? 800 : 30);
  uint64_t done = 0;
  for (; another(done, programs, until); ++done) program(seed * 100000 + done, long_run ? 48 : 200);
  if (me == 0)
    printf("%llu of %llu programs\n", (unsigned long long)done, (unsigned long long)programs);
  // One that is active at the end.
  MPI_Request last;
  MPI_Recv_init(in[0][0], 8, MPI_BYTE, from, 0, MPI_COMM_WORLD, &last);
  MPI_Start(&last);
  return check_end();
}
