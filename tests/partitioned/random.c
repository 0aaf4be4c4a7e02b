// Programs of partitioned communication drawn at random: different partitions and datatypes on the two sides,
// several requests of one key, requests with oneself, all ways to start, to be ready and to wait. The received data
// is compared with the expected data, gaps of datatypes included.
//
//   partitioned_random --programs 100 --seed 1
//
// All ranks draw the same programs.
#include "check.h"

enum { kMostPairs = 8, kMostEpochs = 6, kGap = -1 };

// Positions of the numbers of a type: one in so many, and the distance from the beginning.
static const struct { int extent, offset; } layouts[] = {{1, 0}, {2, 0}, {3, 1}, {1, 0}};
enum { kTypes = 4, kBytes = 3 };
static MPI_Datatype types[kTypes];

struct end {
  int partitions;
  long count;  // numbers in each
  int type;
};

struct pair {
  int from, to, tag;
  MPI_Comm comm;
  long total;  // numbers
  struct end out, in;
};

// This rank's request of a pair.
struct request {
  const struct pair* pair;
  bool sends;
  int number;  // of the pair
  int* memory;
  long room;
  const struct end* end;
  bool ready;  // it needs no partition any more
  MPI_Request handle;
};

static int value(const struct request* request, int program, int epoch, long i) {
  return (int)(word_at(key_of(request->pair->from, request->pair->to,
                              (uint64_t)(program * 100 + request->number * 10 + epoch)),
                       (size_t)i) &
               0x7fffffff);
}

static long place(const struct end* end, long i) {
  return i * layouts[end->type].extent + layouts[end->type].offset;
}

static void draw_ends(struct pair* pair, uint64_t* state) {
  const int a = 1 + (int)random_below(state, 8);
  const int b = 1 + (int)random_below(state, 8);
  static const long most[] = {1, 4, 40, 300, 4000};
  const long m = (long)random_below(state, (uint64_t)most[random_below(state, 5)] + 1);
  const bool same = random_below(state, 3) == 0;
  pair->total = a * b * m;
  pair->out = (struct end){a, b * m, (int)random_below(state, kTypes)};
  pair->in = (struct end){same ? a : b, same ? b * m : a * m, (int)random_below(state, kTypes)};
}

static int draw_program(struct pair* pairs, MPI_Comm other, uint64_t* state) {
  const int count = 1 + (int)random_below(state, kMostPairs);
  for (int i = 0; i < count; ++i) {
    pairs[i].from = (int)random_below(state, (uint64_t)ranks);
    pairs[i].to = (int)random_below(state, (uint64_t)ranks);
    pairs[i].tag = (int)random_below(state, 3);
    pairs[i].comm = random_below(state, 3) == 0 ? other : MPI_COMM_WORLD;
    draw_ends(&pairs[i], state);
  }
  return count;
}

static void make(struct request* request, const struct pair* pair, bool sends, int number) {
  *request = (struct request){.pair = pair, .sends = sends, .number = number};
  request->end = sends ? &pair->out : &pair->in;
  request->room = place(request->end, pair->total) + 3;
  request->memory = allocate((size_t)request->room * sizeof(int));
  const MPI_Count count =
      request->end->count * (request->end->type == kBytes ? (long)sizeof(int) : 1);
  doing("init of a %s, pair %d", sends ? "send" : "receive", number);
  const int status = sends ? MPI_Psend_init(request->memory, request->end->partitions, count,
                                            types[request->end->type], pair->to, pair->tag,
                                            pair->comm, MPI_INFO_NULL, &request->handle)
                           : MPI_Precv_init(request->memory, request->end->partitions, count,
                                            types[request->end->type], pair->from, pair->tag,
                                            pair->comm, MPI_INFO_NULL, &request->handle);
  require(status == MPI_SUCCESS, "init: %d", status);
}

static void shuffle(int* order, int count, uint64_t* state) {
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count; i > 1; --i) {
    const int j = (int)random_below(state, (uint64_t)i);
    const int kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}

static void prepare(struct request* request, int program, int epoch) {
  for (long i = 0; i < request->room; ++i) request->memory[i] = kGap;
  if (!request->sends) return;
  for (long i = 0; i < request->pair->total; ++i)
    request->memory[place(request->end, i)] = value(request, program, epoch, i);
}

static void compare(const struct request* request, int program, int epoch, long first, long last) {
  for (long i = first; i < last; ++i) {
    const int right = value(request, program, epoch, i);
    const int is = request->memory[place(request->end, i)];
    require(is == right, "program %d, epoch %d, pair %d: number %ld is %d, not %d", program, epoch,
            request->number, i, is, right);
  }
}

static void look_at_gaps(const struct request* request) {
  const int extent = layouts[request->end->type].extent;
  const int offset = layouts[request->end->type].offset;
  for (long i = 0; i < request->room; ++i) {
    const bool gap = i % extent != offset || i / extent >= request->pair->total;
    require(!gap || request->memory[i] == kGap, "pair %d: the gap at %ld was written",
            request->number, i);
  }
}

// Makes all partitions of a send ready, in a drawn order and by drawn calls.
static void be_ready(struct request* request, uint64_t* state) {
  int order[8];
  const int count = request->end->partitions;
  shuffle(order, count, state);
  switch (random_below(state, 4)) {
    case 0: MPI_Pready_range(0, count - 1, request->handle); break;
    case 1: MPI_Pready_list(count, order, request->handle); break;
    case 2:
      for (int i = 0; i < count; ++i) MPI_Pready(i, request->handle);
      break;
    default:
      for (int i = 0; i < count; ++i) MPI_Pready(order[i], request->handle);
  }
  request->ready = true;
}

static void poll_partitions(const struct request* request, int program, int epoch) {
  for (int i = 0; i < request->end->partitions; ++i) {
    int flag = 0;
    MPI_Parrived(request->handle, i, &flag);
    if (flag)
      compare(request, program, epoch, i * request->end->count, (i + 1) * request->end->count);
  }
}

static void wait_all(struct request* requests, int count, uint64_t* state) {
  MPI_Request handles[2 * kMostPairs];
  MPI_Status statuses[2 * kMostPairs];
  for (int i = 0; i < count; ++i) handles[i] = requests[i].handle;
  switch (random_below(state, 3)) {
    case 0: MPI_Waitall(count, handles, statuses); break;
    case 1:
      for (int done = 0; done < count; ++done) {
        int which = MPI_UNDEFINED;
        MPI_Status status;
        MPI_Waitany(count, handles, &which, &status);
        require(which >= 0 && which < count, "Waitany: %d", which);
        statuses[which] = status;
      }
      break;
    default:
      for (int i = 0; i < count; ++i)
        for (int flag = 0; !flag;) MPI_Test(&handles[i], &flag, &statuses[i]);
  }
  for (int i = 0; i < count; ++i) {
    if (requests[i].sends) continue;
    MPI_Count bytes = -1;
    MPI_Get_elements_x(&statuses[i], MPI_BYTE, &bytes);
    require(bytes == requests[i].pair->total * (long)sizeof(int) &&
                statuses[i].MPI_SOURCE == requests[i].pair->from &&
                statuses[i].MPI_TAG == requests[i].pair->tag,
            "pair %d: %lld bytes of rank %d, tag %d", requests[i].number, (long long)bytes,
            statuses[i].MPI_SOURCE, statuses[i].MPI_TAG);
  }
}

static void run_epoch(struct request* requests, int count, int program, int epoch,
                      uint64_t* state) {
  int order[2 * kMostPairs];
  MPI_Request handles[2 * kMostPairs];
  for (int i = 0; i < count; ++i) prepare(&requests[i], program, epoch);
  doing("program %d, epoch %d: start", program, epoch);
  shuffle(order, count, state);
  for (int i = 0; i < count; ++i) handles[i] = requests[order[i]].handle;
  if (random_below(state, 2) == 0)
    MPI_Startall(count, handles);
  else
    for (int i = 0; i < count; ++i) MPI_Start(&handles[i]);
  doing("program %d, epoch %d: ready", program, epoch);
  shuffle(order, count, state);
  const bool polls = random_below(state, 2) == 0;
  for (int i = 0; i < count; ++i)
    if (requests[i].sends) be_ready(&requests[i], state);
  for (int round = 0; polls && round < 3; ++round)
    for (int i = 0; i < count; ++i)
      if (!requests[i].sends) poll_partitions(&requests[i], program, epoch);
  doing("program %d, epoch %d: wait", program, epoch);
  wait_all(requests, count, state);
  for (int i = 0; i < count; ++i) {
    if (requests[i].sends) continue;
    compare(&requests[i], program, epoch, 0, requests[i].pair->total);
    look_at_gaps(&requests[i]);
  }
}

static void run(int program, MPI_Comm other) {
  struct pair pairs[kMostPairs];
  struct request requests[2 * kMostPairs];
  uint64_t state = scramble(seed * 1000003u + (uint64_t)program);
  const int drawn = draw_program(pairs, other, &state);
  const int epochs = 1 + (int)random_below(&state, kMostEpochs);
  int count = 0;
  uint64_t own = state + (uint64_t)me * 77;  // from here on each rank has chances of its own
  for (int i = 0; i < drawn; ++i) {
    const bool first = random_below(&own, 2) == 0;
    for (int side = 0; side < 2; ++side) {
      const bool sends = (side == 0) == first;
      if ((sends ? pairs[i].from : pairs[i].to) == me)
        make(&requests[count++], &pairs[i], sends, i);
    }
  }
  for (int epoch = 0; epoch < epochs; ++epoch) run_epoch(requests, count, program, epoch, &own);
  for (int i = 0; i < count; ++i) {
    MPI_Request_free(&requests[i].handle);
    require(requests[i].handle == MPI_REQUEST_NULL, "a freed request is not null");
    free(requests[i].memory);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int programs = (int)option(argc, argv, "--programs", 100);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  types[0] = MPI_INT;
  MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &types[1]);
  MPI_Datatype shifted;
  const int displacement = 1;
  MPI_Type_create_indexed_block(1, 1, &displacement, MPI_INT, &shifted);
  MPI_Type_create_resized(shifted, 0, 3 * (MPI_Aint)sizeof(int), &types[2]);
  types[kBytes] = MPI_BYTE;
  MPI_Type_commit(&types[1]);
  MPI_Type_commit(&types[2]);
  for (int program = 0; program < programs; ++program) run(program, other);
  MPI_Type_free(&types[1]);
  MPI_Type_free(&types[2]);
  MPI_Type_free(&shifted);
  MPI_Comm_free(&other);
  return check_end();
}
