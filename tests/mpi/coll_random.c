// Collectives drawn at random on communicators drawn at random, with many communicators at a time. They are
// blocking and nonblocking, several under way at once, with delays, in place, with types whose layout differs from
// rank to rank. Each rank compares every element of every result with a locally computed one. All results enter a
// digest, on which two runs with different components must agree.
//
//   coll_random [--cases N] [--threads N] [--alike]     prints "digest N cases X" before "ok"
//
// --threads: so many threads of each rank do this at the same time, each on separate communicators.
// --alike: the same layout at all ranks. Open MPI's own broadcasts hang or crash without it.
#include "coll_case.h"

#include <pthread.h>

enum { kComms = 6, kPending = 5, kMaxCount = 40000, kMaxThreads = kStateSlots };

static _Thread_local uint64_t state;  // the same at all ranks
static _Thread_local uint64_t digest;

static uint64_t draw(uint64_t bound) { return random_below(&state, bound); }

static void note(const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; ++i) digest = (digest ^ bytes[i]) * 0x100000001b3u;
}

static bool alike;
static long cases;
static MPI_Comm bases[kMaxThreads];  // the parent of the communicators that each thread makes
static _Thread_local MPI_Comm base;
static _Thread_local MPI_Comm comms[kComms];  // MPI_COMM_NULL: none here

// --- One collective ---

static void begin_bcast(Case* c) {
  c->out = memory(bytes_of(c, c->count * stride(c)));
  for (int i = 0; c->rank == c->root && i < c->count; ++i)
    put(c->out, c->type, i * stride(c), element(c->key, c->root, i, 0));
  MPI_Datatype type = element_type(c);
  if (c->nonblocking)
    MPI_Ibcast(c->out, c->count, type, c->root, c->comm, &c->request);
  else
    MPI_Bcast(c->out, c->count, type, c->root, c->comm);
}

static void fill_own(const Case* c, void* data, int offset) {
  for (int i = 0; i < c->count; ++i)
    put(data, c->type, offset + i, element(c->key, c->rank, i, c->op));
}

static void begin_reduction(Case* c) {
  const bool all = c->call == kAllreduce;
  const bool gets = all || c->rank == c->root;
  const bool in_place = c->in_place && gets;
  c->in = memory(bytes_of(c, c->count));
  c->out = memory(bytes_of(c, c->count));
  fill_own(c, in_place ? c->out : c->in, 0);
  const void* in = in_place ? MPI_IN_PLACE : c->in;
  void* out = gets ? c->out : NULL;
  MPI_Datatype type = types[c->type];
  const MPI_Op op = op_of(c->op);
  if (all && c->nonblocking)
    MPI_Iallreduce(in, out, c->count, type, op, c->comm, &c->request);
  else if (all)
    MPI_Allreduce(in, out, c->count, type, op, c->comm);
  else if (c->nonblocking)
    MPI_Ireduce(in, out, c->count, type, op, c->root, c->comm, &c->request);
  else
    MPI_Reduce(in, out, c->count, type, op, c->root, c->comm);
}

static void begin_scan(Case* c) {
  c->in = memory(bytes_of(c, c->count));
  c->out = memory(bytes_of(c, c->count));
  fill_own(c, c->in_place ? c->out : c->in, 0);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  MPI_Datatype type = types[c->type];
  const MPI_Op op = op_of(c->op);
  if (c->call == kScan && c->nonblocking)
    MPI_Iscan(in, c->out, c->count, type, op, c->comm, &c->request);
  else if (c->call == kScan)
    MPI_Scan(in, c->out, c->count, type, op, c->comm);
  else if (c->nonblocking)
    MPI_Iexscan(in, c->out, c->count, type, op, c->comm, &c->request);
  else
    MPI_Exscan(in, c->out, c->count, type, op, c->comm);
}

// Blocks of unequal size, with gaps between them, in reverse order.
static int block_size(const Case* c, int rank) {
  if (c->call < kAllgatherv) return c->count;
  return c->count * (int)((c->key + (uint64_t)rank) % 3) / 2;
}
static int block_place(const Case* c, int rank) {
  return c->call < kAllgatherv ? rank * c->count : (c->size - 1 - rank) * (c->count + 1);
}
static void describe_blocks(const Case* c, int* counts, int* places) {
  for (int rank = 0; rank < c->size; ++rank) {
    counts[rank] = block_size(c, rank);
    places[rank] = block_place(c, rank);
  }
}

// One rank's elements are plain, the other side has this rank's layout.
static void begin_gather(Case* c) {
  const bool all = c->call == kAllgather || c->call == kAllgatherv;
  const bool unequal = c->call == kAllgatherv || c->call == kGatherv;
  const bool gets = all || c->rank == c->root;
  const bool in_place = c->in_place && gets;
  const int own = block_size(c, c->rank), n = c->count;
  int* const counts = c->counts;
  int* const places = c->places;
  describe_blocks(c, counts, places);
  c->in = memory(bytes_of(c, c->count));
  c->out = memory(bytes_of(c, (c->count + 1) * c->size * stride(c)));
  for (int i = 0; i < own; ++i)
    put(in_place ? c->out : c->in, c->type, in_place ? (places[c->rank] + i) * stride(c) : i,
        element(c->key, c->rank, i, c->op));
  const void* in = in_place ? MPI_IN_PLACE : c->in;
  MPI_Datatype type = types[c->type], out = element_type(c);
  MPI_Request* request = &c->request;
  if (all && unequal && c->nonblocking)
    MPI_Iallgatherv(in, own, type, c->out, counts, places, out, c->comm, request);
  else if (all && unequal)
    MPI_Allgatherv(in, own, type, c->out, counts, places, out, c->comm);
  else if (unequal && c->nonblocking)
    MPI_Igatherv(in, own, type, c->out, counts, places, out, c->root, c->comm, request);
  else if (unequal)
    MPI_Gatherv(in, own, type, c->out, counts, places, out, c->root, c->comm);
  else if (all && c->nonblocking)
    MPI_Iallgather(in, n, type, c->out, n, out, c->comm, request);
  else if (all)
    MPI_Allgather(in, n, type, c->out, n, out, c->comm);
  else if (c->nonblocking)
    MPI_Igather(in, n, type, c->out, n, out, c->root, c->comm, request);
  else
    MPI_Gather(in, n, type, c->out, n, out, c->root, c->comm);
}

static void begin_scatter(Case* c) {
  MPI_Datatype in = element_type(c), type = types[c->type];
  const bool in_place = c->in_place && c->rank == c->root;
  const int own = block_size(c, c->rank);
  describe_blocks(c, c->counts, c->places);
  c->in = memory(bytes_of(c, (c->count + 1) * c->size * stride(c)));
  c->out = memory(bytes_of(c, c->count));
  for (int to = 0; to < c->size; ++to)
    for (int i = 0; i < c->counts[to]; ++i)
      put(c->in, c->type, (c->places[to] + i) * stride(c), element(c->key, to, i, c->op));
  void* out = in_place ? MPI_IN_PLACE : c->out;
  if (c->call == kScatterv && c->nonblocking)
    MPI_Iscatterv(c->in, c->counts, c->places, in, out, own, type, c->root, c->comm, &c->request);
  else if (c->call == kScatterv)
    MPI_Scatterv(c->in, c->counts, c->places, in, out, own, type, c->root, c->comm);
  else if (c->nonblocking)
    MPI_Iscatter(c->in, c->count, in, out, c->count, type, c->root, c->comm, &c->request);
  else
    MPI_Scatter(c->in, c->count, in, out, c->count, type, c->root, c->comm);
}

static void begin_reduce_scatter(Case* c) {
  c->in = memory(bytes_of(c, c->count * c->size));
  c->out = memory(bytes_of(c, c->count * c->size));
  for (int i = 0; i < c->count * c->size; ++i)
    put(c->in_place ? c->out : c->in, c->type, i, element(c->key, c->rank, i, c->op));
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  if (c->nonblocking)
    MPI_Ireduce_scatter_block(in, c->out, c->count, types[c->type], op_of(c->op), c->comm,
                              &c->request);
  else
    MPI_Reduce_scatter_block(in, c->out, c->count, types[c->type], op_of(c->op), c->comm);
}

// The elements that go from one rank to another, with gaps between them.
static int between(const Case* c, int from, int to) {
  if (c->call == kAlltoall) return c->count;
  return c->count * (int)((c->key + (uint64_t)from * 5 + (uint64_t)to) % 3) / 2;
}
static uint64_t pair_key(const Case* c, int from) { return c->key * 64 + (uint64_t)from; }

// The sending side is plain, unless it is in place, the receiving one has this rank's layout.
static void begin_alltoall(Case* c) {
  const bool unequal = c->call == kAlltoallv;
  const int slot = c->count + (unequal ? 1 : 0);
  int* const sends = calloc((size_t)c->size * 2, sizeof *sends);
  require(sends != NULL, "no memory");
  int* const to = sends + c->size;
  for (int rank = 0; rank < c->size; ++rank) {
    // In place both layouts are the same.
    sends[rank] = c->in_place ? between(c, 0, 0) : between(c, c->rank, rank);
    c->counts[rank] = c->in_place ? between(c, 0, 0) : between(c, rank, c->rank);
    to[rank] = rank * slot;
    c->places[rank] = (unequal ? c->size - 1 - rank : rank) * slot;
  }
  c->in = memory(bytes_of(c, slot * c->size));
  c->out = memory(bytes_of(c, slot * c->size * stride(c)));
  for (int rank = 0; rank < c->size; ++rank)
    for (int i = 0; i < sends[rank]; ++i)
      put(c->in_place ? c->out : c->in, c->type,
          c->in_place ? (c->places[rank] + i) * stride(c) : to[rank] + i,
          element(pair_key(c, c->rank), rank, i, c->op));
  MPI_Datatype type = types[c->type], out = element_type(c);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  if (unequal && c->nonblocking)
    MPI_Ialltoallv(in, sends, to, type, c->out, c->counts, c->places, out, c->comm, &c->request);
  else if (unequal)
    MPI_Alltoallv(in, sends, to, type, c->out, c->counts, c->places, out, c->comm);
  else if (c->nonblocking)
    MPI_Ialltoall(in, c->count, type, c->out, c->count, out, c->comm, &c->request);
  else
    MPI_Alltoall(in, c->count, type, c->out, c->count, out, c->comm);
  c->sends = sends;
}

static const char* const names[kCalls] = {
    "bcast",   "reduce",    "allreduce", "scan",      "exscan",
    "barrier", "allgather", "gather",    "scatter",   "allgatherv",
    "gatherv", "scatterv",  "alltoall",  "alltoallv", "reduce_scatter_block"};

static void begin(Case* c) {
  doing("%s%s no. %llu, %d ranks, root %d, %d elements of type %d, op %d",
        c->nonblocking ? "i" : "", names[c->call], (unsigned long long)c->key, c->size, c->root,
        c->count, c->type, c->op);
  c->request = MPI_REQUEST_NULL;
  c->made = MPI_DATATYPE_NULL;
  c->in = c->out = NULL;
  c->sends = NULL;
  c->counts = calloc((size_t)c->size * 2, sizeof *c->counts);
  require(c->counts != NULL, "no memory");
  c->places = c->counts + c->size;
  switch (c->call) {
    case kBcast: begin_bcast(c); break;
    case kReduce:
    case kAllreduce: begin_reduction(c); break;
    case kScan:
    case kExscan: begin_scan(c); break;
    case kAllgather:
    case kGather:
    case kAllgatherv:
    case kGatherv: begin_gather(c); break;
    case kScatter:
    case kScatterv: begin_scatter(c); break;
    case kAlltoall:
    case kAlltoallv: begin_alltoall(c); break;
    case kReduceScatter: begin_reduce_scatter(c); break;
    default:
      if (c->nonblocking)
        MPI_Ibarrier(c->comm, &c->request);
      else
        MPI_Barrier(c->comm);
  }
}

static void expect(const Case* c, int index, int value) {
  unsigned char right[8];
  put(right, c->type, 0, value);
  const unsigned char* is = (unsigned char*)c->out + (size_t)index * (size_t)sizes[c->type];
  note(is, (size_t)sizes[c->type]);
  require(
      memcmp(is, right, (size_t)sizes[c->type]) == 0,
      "%s%s no. %llu, rank %d of %d, root %d, %d elements of type %d, op %d%s: element %d is wrong",
      c->nonblocking ? "i" : "", names[c->call], (unsigned long long)c->key, c->rank, c->size,
      c->root, c->count, c->type, c->op, c->in_place ? ", in place" : "", index);
}

static void check_result(const Case* c) {
  switch (c->call) {
    case kBcast:
      for (int i = 0; i < c->count; ++i) expect(c, i * stride(c), element(c->key, c->root, i, 0));
      break;
    case kReduce:
    case kAllreduce:
      for (int i = 0; (c->call == kAllreduce || c->rank == c->root) && i < c->count; ++i)
        expect(c, i, combined(c->key, c->size, i, c->op));
      break;
    case kScan:
    case kExscan: {
      const int up_to = c->rank + (c->call == kScan ? 1 : 0);
      for (int i = 0; up_to > 0 && i < c->count; ++i)
        expect(c, i, combined(c->key, up_to, i, c->op));
      break;
    }
    case kAllgather:
    case kAllgatherv:
    case kGather:
    case kGatherv:
      if (c->rank != c->root && (c->call == kGather || c->call == kGatherv)) break;
      for (int from = 0; from < c->size; ++from)
        for (int i = 0; i < c->counts[from]; ++i)
          expect(c, (c->places[from] + i) * stride(c), element(c->key, from, i, c->op));
      break;
    case kScatter:
    case kScatterv:
      // In place the root's block stays where it was.
      for (int i = 0; !(c->in_place && c->rank == c->root) && i < c->counts[c->rank]; ++i)
        expect(c, i, element(c->key, c->rank, i, c->op));
      break;
    case kAlltoall:
    case kAlltoallv:
      for (int from = 0; from < c->size; ++from)
        for (int i = 0; i < c->counts[from]; ++i)
          expect(c, (c->places[from] + i) * stride(c),
                 element(pair_key(c, from), c->rank, i, c->op));
      break;
    case kReduceScatter:
      for (int i = 0; i < c->count; ++i)
        expect(c, i, combined(c->key, c->size, c->rank * c->count + i, c->op));
      break;
    default: break;
  }
}

static void end(Case* c) {
  doing("end of %s%s no. %llu, %d ranks, root %d", c->nonblocking ? "i" : "", names[c->call],
        (unsigned long long)c->key, c->size, c->root);
  if (c->nonblocking) MPI_Wait(&c->request, MPI_STATUS_IGNORE);
  check_result(c);
  if (c->made != MPI_DATATYPE_NULL) MPI_Type_free(&c->made);
  free(c->in);
  free(c->out);
  free(c->counts);
  free(c->sends);
}

static int draw_count(void) {
  switch (draw(8)) {
    case 0: return 0;
    case 1: return kMaxCount / 8 + (int)draw(kMaxCount);
    case 2:
    case 3: return 1 + (int)draw(3000);
    default: return 1 + (int)draw(16);
  }
}

// All ranks draw the same case; only members take part. False: not a member.
static bool draw_case(Case* c, uint64_t key) {
  const int which = (int)draw(kComms);
  c->key = key;
  c->call = draw(kCalls);
  c->count = draw_count();
  if (c->call >= kAllgather) c->count /= 8;
  c->type = (int)draw(kTypes);
  c->op = (int)draw(is_float(c->type) ? 4 : kOps);
  const bool reduces = (c->call >= kReduce && c->call <= kExscan) || c->call == kReduceScatter;
  if (reduces && c->type == 5 && c->op == 3) c->op = 2;
  c->in_place = draw(4) == 0;
  c->nonblocking = draw(3) == 0;
  const uint64_t root = draw(1 << 20);
  const uint64_t layouts = draw(1 << 20);
  c->comm = comms[which];
  if (c->comm == MPI_COMM_NULL) return false;
  MPI_Comm_rank(c->comm, &c->rank);
  MPI_Comm_size(c->comm, &c->size);
  c->root = (int)(root % (uint64_t)c->size);
  c->layout = (int)((layouts + (alike ? 0 : (uint64_t)me)) % 5 % 3);
  return true;
}

// --- Communicators ---

static void replace_communicator(void) {
  const int which = (int)draw(kComms);
  const int how = (int)draw(4);
  const int from = (int)draw(kComms);
  const int colours = 1 + (int)draw(3);
  const bool reverse = draw(2) == 0;
  const uint64_t members = draw(1u << 20) | 1u << draw((uint64_t)ranks);
  doing("communicator %d: way %d", which, how);
  if (comms[which] != MPI_COMM_NULL) MPI_Comm_free(&comms[which]);
  if (how == 0) {
    MPI_Comm_split(base, me % colours, reverse ? -me : me, &comms[which]);
  } else if (how == 1) {
    const bool in = (members >> (me % 20) & 1) != 0;
    MPI_Comm_split(base, in ? 1 : MPI_UNDEFINED, reverse ? -me : me, &comms[which]);
  } else if (how == 2 && from != which) {
    if (comms[from] != MPI_COMM_NULL) MPI_Comm_dup(comms[from], &comms[which]);
  } else {
    MPI_Request request;
    MPI_Comm_idup(base, &comms[which], &request);
    MPI_Barrier(base);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// One thread's cases, from its own seed; its digest.
static uint64_t run(int thread) {
  state_slot = thread;
  state = seed * 1000003 + (uint64_t)thread * 7919;
  digest = 0xcbf29ce484222325u;
  uint64_t own = seed + 77 * (uint64_t)me + (uint64_t)thread;  // delays are each rank's own
  base = bases[thread];
  for (int i = 0; i < kComms; ++i) comms[i] = MPI_COMM_NULL;
  MPI_Comm_dup(base, &comms[0]);

  Case pending[kPending];
  int waiting = 0;
  for (long number = 0; number < cases; ++number) {
    if (draw(12) == 0) {
      while (waiting > 0) end(&pending[--waiting]);
      replace_communicator();
    }
    own = own * 6364136223846793005u + 1442695040888963407u;
    if ((own >> 33 & 15) == 0) {
      const struct timespec pause = {.tv_nsec = (long)(own >> 40) % 500000};
      nanosleep(&pause, NULL);
    }
    Case c;
    if (!draw_case(&c, (uint64_t)number + 1)) continue;
    begin(&c);
    if (c.nonblocking) {
      pending[waiting++] = c;
      // In any order: here the last one first.
      if (waiting == kPending)
        while (waiting > 0) end(&pending[--waiting]);
    } else {
      end(&c);
    }
  }
  while (waiting > 0) end(&pending[--waiting]);
  for (int i = 0; i < kComms; ++i)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  doing("all cases done");
  return digest;
}

typedef struct Thread {
  pthread_t id;
  int number;
  uint64_t digest;
} Thread;

static void* run_thread(void* argument) {
  Thread* thread = argument;
  thread->digest = run(thread->number);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = (int)option(argc, argv, "--threads", 1);
  cases = option(argc, argv, "--cases", 0);
  alike = has_option(argc, argv, "--alike");
  check_start(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  require(threads >= 1 && threads <= kMaxThreads, "--threads must be from 1 to %d", kMaxThreads);
  if (cases == 0) cases = long_run ? 10000 : 400;
  int provided = 0;
  MPI_Query_thread(&provided);
  require(threads == 1 || provided == MPI_THREAD_MULTIPLE, "no MPI_THREAD_MULTIPLE");

  Thread team[kMaxThreads];
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &bases[i]);
  for (int i = 1; i < threads; ++i) {
    team[i].number = i;
    require(pthread_create(&team[i].id, NULL, run_thread, &team[i]) == 0, "no thread");
  }
  uint64_t mine = run(0);
  for (int i = 1; i < threads; ++i) {
    pthread_join(team[i].id, NULL);
    mine ^= team[i].digest;
  }
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&bases[i]);

  uint64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (me == 0) printf("digest %ld cases %016llx\n", cases, (unsigned long long)all);
  return check_end();
}
