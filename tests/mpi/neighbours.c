// Collectives among the neighbours of random process topologies. These are grids with short and periodic
// dimensions, graphs, and distributed graphs. The latter have edges that occur twice, edges to oneself, and ranks
// without any edge. Blocking, nonblocking (several at a time) and persistent calls; parts of any size, also empty,
// in plain and other layouts, from MPI_BOTTOM. Each rank computes the expected contents from the lists of all
// ranks' neighbours.
//
//   neighbours [--cases N] [--most BYTES] [--other]
//
// --other: another component's nonblocking calls, which mix up the two directions between the same two ranks of a grid,
// are left out there.
#include "check.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(call) MPIX_Neighbor_##call##_init
#else
#define INIT(call) MPI_Neighbor_##call##_init
#endif

enum { kCalls = 5, kMostDims = 3, kGuard = 3 };
static const char* const names[kCalls] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                          "alltoallw"};
static int* volatile unweighted =
    MPI_UNWEIGHTED;  // the compiler treats it as a list of no elements
static uint64_t random_state;
static int most = 6000;  // elements

typedef struct Topology {
  MPI_Comm comm;
  bool grid, short_ring;
  int sources, destinations;
  int *from, *to;
  int *all, *first;  // the destinations of all ranks
} Topology;

// One call in one of its forms.
typedef struct Call {
  int kind, number, stride_in, stride_out;
  bool bottom;
  int64_t *in, *out;
  int *counts, *places, *out_counts, *out_places;
  MPI_Aint *offsets, *out_offsets;
  MPI_Datatype *types, *out_types, in_type, out_type;
  MPI_Request request;
} Call;

static int below(int bound) { return (int)random_below(&random_state, (uint64_t)bound); }
static void* list_of(size_t count, size_t size) {
  void* made = calloc(count + 1, size);
  require(made != NULL, "no memory");
  return made;
}

// --- Topologies ---

static void make_grid(Topology* t) {
  int dims[kMostDims] = {0};
  int periods[kMostDims];
  const int count = 1 + below(kMostDims);
  for (int i = 0; i < count; ++i) periods[i] = below(2);
  if (below(3) == 0) dims[below(count)] = 1;
  int open = 0;
  for (int i = 0; i < count; ++i) open += dims[i] == 0;
  if (open == 0) dims[0] = 0;
  MPI_Dims_create(ranks, count, dims);
  MPI_Cart_create(MPI_COMM_WORLD, count, dims, periods, below(2), &t->comm);
  t->grid = true;
  for (int i = 0; i < count; ++i) t->short_ring = t->short_ring || (periods[i] && dims[i] <= 2);
}

// As many edges from a to b as from b to a.
static void make_graph(Topology* t) {
  int* index = list_of((size_t)ranks, sizeof *index);
  const int pairs = below(3 * ranks);
  int* lists = list_of((size_t)ranks * (size_t)pairs * 2, sizeof *lists);
  for (int i = 0; i < pairs; ++i) {
    const int a = below(ranks);
    const int b = below(ranks);
    lists[a * 2 * pairs + index[a]++] = b;
    lists[b * 2 * pairs + index[b]++] = a;
  }
  int* edges = list_of((size_t)pairs * 2, sizeof *edges);
  int end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int i = 0; i < index[rank]; ++i) edges[end + i] = lists[rank * 2 * pairs + i];
    index[rank] = end += index[rank];
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &t->comm);
  free(index), free(lists), free(edges);
}

static void make_distributed(Topology* t) {
  const int edges = below(4 * ranks);
  int* from = list_of((size_t)edges, sizeof *from);
  int* to = list_of((size_t)edges, sizeof *to);
  int sources = 0;
  int destinations = 0;
  const bool adjacent = below(2) == 0;
  int* degrees = list_of((size_t)edges, sizeof *degrees);
  for (int i = 0; i < edges; ++i) {
    const int a = below(ranks);
    const int b = below(ranks);
    if (adjacent) {
      if (b == me) from[sources++] = a;
      if (a == me) to[destinations++] = b;
    } else if (below(ranks) == me) {  // whichever rank contributes the edge
      from[sources] = a;
      degrees[sources] = 1;
      to[sources++] = b;
    }
  }
  if (adjacent)
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, from, unweighted, destinations, to,
                                   unweighted, MPI_INFO_NULL, 0, &t->comm);
  else
    MPI_Dist_graph_create(MPI_COMM_WORLD, sources, from, degrees, to, unweighted, MPI_INFO_NULL, 0,
                          &t->comm);
  free(from), free(to), free(degrees);
}

static void ask_neighbours(Topology* t) {
  int status;
  MPI_Topo_test(t->comm, &status);
  int own;
  MPI_Comm_rank(t->comm, &own);
  if (status == MPI_CART) {
    int count;
    MPI_Cartdim_get(t->comm, &count);
    t->sources = t->destinations = 2 * count;
    t->from = list_of((size_t)t->sources, sizeof *t->from);
    t->to = list_of((size_t)t->sources, sizeof *t->to);
    for (int i = 0; i < count; ++i)
      MPI_Cart_shift(t->comm, i, 1, &t->from[2 * i], &t->from[2 * i + 1]);
    memcpy(t->to, t->from, (size_t)t->sources * sizeof *t->to);
  } else if (status == MPI_GRAPH) {
    MPI_Graph_neighbors_count(t->comm, own, &t->sources);
    t->destinations = t->sources;
    t->from = list_of((size_t)t->sources, sizeof *t->from);
    t->to = list_of((size_t)t->sources, sizeof *t->to);
    MPI_Graph_neighbors(t->comm, own, t->sources, t->from);
    memcpy(t->to, t->from, (size_t)t->sources * sizeof *t->to);
  } else {
    int weighted;
    MPI_Dist_graph_neighbors_count(t->comm, &t->sources, &t->destinations, &weighted);
    t->from = list_of((size_t)t->sources, sizeof *t->from);
    t->to = list_of((size_t)t->destinations, sizeof *t->to);
    MPI_Dist_graph_neighbors(t->comm, t->sources, t->from, unweighted, t->destinations, t->to,
                             unweighted);
  }
}

static void make_topology(Topology* t) {
  *t = (Topology){.grid = false};
  const int kind = below(3);
  if (kind == 0) make_grid(t);
  if (kind == 1) make_graph(t);
  if (kind == 2) make_distributed(t);
  if (below(4) == 0) {
    MPI_Comm old = t->comm;
    MPI_Comm_dup(old, &t->comm);
    MPI_Comm_free(&old);
  }
  ask_neighbours(t);
  int* counts = list_of((size_t)ranks, sizeof *counts);
  t->first = list_of((size_t)ranks + 1, sizeof *t->first);
  MPI_Allgather(&t->destinations, 1, MPI_INT, counts, 1, MPI_INT, t->comm);
  for (int rank = 0; rank < ranks; ++rank) t->first[rank + 1] = t->first[rank] + counts[rank];
  t->all = list_of((size_t)t->first[ranks], sizeof *t->all);
  MPI_Allgatherv(t->to, t->destinations, MPI_INT, t->all, counts, t->first, MPI_INT, t->comm);
  free(counts);
}

// The index of this edge among those of its source.
static int edge_of(const Topology* t, int i) {
  if (t->grid) return i ^ 1;
  int own;
  MPI_Comm_rank(t->comm, &own);
  int before = 0;
  for (int j = 0; j < i; ++j) before += t->from[j] == t->from[i];
  const int* to = t->all + t->first[t->from[i]];
  const int count = t->first[t->from[i] + 1] - t->first[t->from[i]];
  for (int edge = 0; edge < count; ++edge)
    if (to[edge] == own && before-- == 0) return edge;
  fail("neighbours: edge %d from %d is not known there", i, t->from[i]);
}

// --- Calls ---

static int size_of(const Call* call, int writer, int edge) {
  const uint64_t key = scramble((uint64_t)call->number * 1000003u + seed);
  const int bound = key % 3 == 0 ? 4 : key % 3 == 1 ? 600 : most;
  switch (call->kind) {
    case 0:
    case 2: return (int)(key / 7 % (unsigned)bound);
    case 1: return (int)(scramble(key + (unsigned)writer) % (unsigned)bound);
    default:
      return (int)(scramble(key + (unsigned)writer * 977u + (unsigned)edge) % (unsigned)bound);
  }
}
static int64_t value_of(const Call* call, int round, int writer, int edge, int at) {
  const int shown = call->kind < 2 ? 0 : edge;
  return ((int64_t)call->number * 31 + round) * 100000007 + writer * 1000003 + shown * 10007 + at;
}

static MPI_Datatype type_of(int stride) {
  MPI_Datatype made = MPI_INT64_T;
  if (stride > 1) {
    MPI_Type_create_resized(MPI_INT64_T, 0, 8 * stride, &made);
    MPI_Type_commit(&made);
  }
  return made;
}

static void fill_in(const Topology* t, Call* call, int round) {
  int own;
  MPI_Comm_rank(t->comm, &own);
  for (int i = 0; i < t->destinations; ++i)
    for (int at = 0; t->to[i] >= 0 && at < call->counts[i]; ++at)
      call->in[(call->places[i] + at) * call->stride_in] = value_of(call, round, own, i, at);
  for (int i = 0; i < t->sources; ++i)
    for (int at = 0; at < call->out_counts[i] + kGuard; ++at)
      for (int k = 0; k < call->stride_out; ++k)
        call->out[(call->out_places[i] + at) * call->stride_out + k] = -7;
}

// Places: in calls without lists one after the other, else with gaps, and the last first.
static int place_all(int* places, const int* counts, int count, bool packed) {
  int end = 0;
  for (int j = 0; j < count; ++j) {
    const int i = packed ? j : count - 1 - j;
    places[i] = end;
    end += counts[i] + (packed ? 0 : kGuard);
  }
  return end + kGuard;
}

static void make_call(const Topology* t, Call* call, int kind, int number) {
  *call = (Call){
      .kind = kind, .number = number, .stride_in = 1 + below(2), .request = MPI_REQUEST_NULL};
  call->stride_out = 1 + below(2);
  call->bottom = kind == 4 && below(2) == 0;
  const size_t outs = (size_t)t->destinations;
  const size_t ins = (size_t)t->sources;
  int own;
  MPI_Comm_rank(t->comm, &own);
  call->counts = list_of(outs, sizeof(int));
  call->places = list_of(outs, sizeof(int));
  call->out_counts = list_of(ins, sizeof(int));
  call->out_places = list_of(ins, sizeof(int));
  for (int i = 0; i < t->destinations; ++i) call->counts[i] = size_of(call, own, i);
  for (int i = 0; i < t->sources; ++i)
    call->out_counts[i] =
        t->from[i] < 0 ? size_of(call, own, i) : size_of(call, t->from[i], edge_of(t, i));
  int in_end = place_all(call->places, call->counts, t->destinations, kind < 3);
  if (kind < 2) {
    in_end = size_of(call, own, 0) + 1;
    for (size_t i = 0; i < outs; ++i) call->places[i] = 0;
  }
  const int out_end =
      place_all(call->out_places, call->out_counts, t->sources, kind == 0 || kind == 2);
  call->in = list_of((size_t)in_end * (size_t)call->stride_in, sizeof(int64_t));
  call->out = list_of((size_t)out_end * (size_t)call->stride_out, sizeof(int64_t));
  call->in_type = type_of(call->stride_in);
  call->out_type = type_of(call->stride_out);
  call->offsets = list_of(outs, sizeof(MPI_Aint));
  call->out_offsets = list_of(ins, sizeof(MPI_Aint));
  call->types = list_of(outs, sizeof(MPI_Datatype));
  call->out_types = list_of(ins, sizeof(MPI_Datatype));
  for (size_t i = 0; i < outs; ++i) {
    call->types[i] = call->in_type;
    call->offsets[i] = (MPI_Aint)call->places[i] * call->stride_in * 8 +
                       (call->bottom ? (MPI_Aint)(intptr_t)call->in : 0);
  }
  for (size_t i = 0; i < ins; ++i) {
    call->out_types[i] = call->out_type;
    call->out_offsets[i] = (MPI_Aint)call->out_places[i] * call->stride_out * 8 +
                           (call->bottom ? (MPI_Aint)(intptr_t)call->out : 0);
  }
}

static void free_call(Call* call) {
  if (call->in_type != MPI_INT64_T) MPI_Type_free(&call->in_type);
  if (call->out_type != MPI_INT64_T) MPI_Type_free(&call->out_type);
  free(call->in), free(call->out), free(call->counts), free(call->places);
  free(call->out_counts), free(call->out_places), free(call->offsets), free(call->out_offsets);
  free(call->types), free(call->out_types);
}

enum Form { kBlocking, kNonblocking, kPersistent };

static void issue(const Topology* t, Call* c, enum Form form) {
  const int n = size_of(c, 0, 0);  // of all, where all are alike
  int own;
  MPI_Comm_rank(t->comm, &own);
  const int given = size_of(c, own, 0);  // to all, in an allgather
  const void* in = c->bottom ? MPI_BOTTOM : c->in;
  void* out = c->bottom ? MPI_BOTTOM : c->out;
  MPI_Comm comm = t->comm;
  MPI_Datatype it = c->in_type;
  MPI_Datatype ot = c->out_type;
  MPI_Request* r = &c->request;
  MPI_Info none = MPI_INFO_NULL;
  switch (3 * c->kind + (int)form) {
    case 0: MPI_Neighbor_allgather(in, n, it, out, n, ot, comm); break;
    case 1: MPI_Ineighbor_allgather(in, n, it, out, n, ot, comm, r); break;
    case 2: INIT(allgather)(in, n, it, out, n, ot, comm, none, r); break;
    case 3:
      MPI_Neighbor_allgatherv(in, given, it, out, c->out_counts, c->out_places, ot, comm);
      break;
    case 4:
      MPI_Ineighbor_allgatherv(in, given, it, out, c->out_counts, c->out_places, ot, comm, r);
      break;
    case 5:
      INIT(allgatherv)(in, given, it, out, c->out_counts, c->out_places, ot, comm, none, r);
      break;
    case 6: MPI_Neighbor_alltoall(in, n, it, out, n, ot, comm); break;
    case 7: MPI_Ineighbor_alltoall(in, n, it, out, n, ot, comm, r); break;
    case 8: INIT(alltoall)(in, n, it, out, n, ot, comm, none, r); break;
    case 9:
      MPI_Neighbor_alltoallv(in, c->counts, c->places, it, out, c->out_counts, c->out_places, ot,
                             comm);
      break;
    case 10:
      MPI_Ineighbor_alltoallv(in, c->counts, c->places, it, out, c->out_counts, c->out_places, ot,
                              comm, r);
      break;
    case 11:
      INIT(alltoallv)
      (in, c->counts, c->places, it, out, c->out_counts, c->out_places, ot, comm, none, r);
      break;
    case 12:
      MPI_Neighbor_alltoallw(in, c->counts, c->offsets, c->types, out, c->out_counts,
                             c->out_offsets, c->out_types, comm);
      break;
    case 13:
      MPI_Ineighbor_alltoallw(in, c->counts, c->offsets, c->types, out, c->out_counts,
                              c->out_offsets, c->out_types, comm, r);
      break;
    default:
      INIT(alltoallw)
      (in, c->counts, c->offsets, c->types, out, c->out_counts, c->out_offsets, c->out_types, comm,
       none, r);
  }
}

static void check_call(const Topology* t, const Call* call, int round) {
  for (int i = 0; i < t->sources; ++i) {
    const int from = t->from[i];
    const int edge = from < 0 ? 0 : edge_of(t, i);
    const bool packed = call->kind == 0 || call->kind == 2;
    const int guard = packed && i + 1 < t->sources ? 0 : kGuard;
    for (int at = 0; at < call->out_counts[i] + guard; ++at)
      for (int k = 0; k < call->stride_out; ++k) {
        const int64_t got = call->out[(call->out_places[i] + at) * call->stride_out + k];
        const bool comes = from >= 0 && at < call->out_counts[i] && k == 0;
        const int64_t right = comes ? value_of(call, round, from, edge, at) : -7;
        require(got == right,
                "%s %d, round %d: edge %d from %d (its %d), element %d of %d: %lld, not %lld",
                names[call->kind], call->number, round, i, from, edge, at, call->out_counts[i],
                (long long)got, (long long)right);
      }
  }
}

static void some_other(const Topology* t, int number) {
  int sum = number;
  if (number % 5 == 0) MPI_Barrier(t->comm);
  if (number % 5 == 1) MPI_Bcast(&sum, 1, MPI_INT, number % ranks, t->comm);
  require(sum == number, "a broadcast among others: %d, not %d", sum, number);
}

static void one_case(int number, bool other) {
  Topology t;
  make_topology(&t);
  Call calls[kCalls];
  enum Form form = (enum Form)below(3);
  if (other && t.short_ring) form = kBlocking;
  doing("case %d, form %d, grid %d", number, (int)form, t.grid);
  for (int k = 0; k < kCalls; ++k) make_call(&t, &calls[k], below(kCalls), number * kCalls + k);
  const int rounds = form == kPersistent ? 3 : 1;
  for (int k = 0; k < kCalls && form == kPersistent; ++k) issue(&t, &calls[k], form);
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < kCalls; ++k) {
      fill_in(&t, &calls[k], round);
      doing("case %d, %s, form %d, round %d, grid %d", number, names[calls[k].kind], (int)form,
            round, t.grid);
      if (form == kPersistent)
        MPI_Start(&calls[k].request);
      else
        issue(&t, &calls[k], form);
      if (number % 2 == 0 && form != kBlocking) MPI_Wait(&calls[k].request, MPI_STATUS_IGNORE);
      some_other(&t, number + k);
    }
    for (int k = kCalls - 1; k >= 0; --k) {
      if (form != kBlocking) MPI_Wait(&calls[k].request, MPI_STATUS_IGNORE);
      check_call(&t, &calls[k], round);
    }
  }
  for (int k = 0; k < kCalls; ++k) {
    if (form == kPersistent) MPI_Request_free(&calls[k].request);
    free_call(&calls[k]);
  }
  MPI_Comm_free(&t.comm);
  free(t.from), free(t.to), free(t.all), free(t.first);
}

// A rank whose blocks are all empty may return without sending anything, and the others do not wait for it.
static void isolated(void) {
  if (ranks < 3) return;
  doing("a rank without neighbours");
  const bool alone = me == 0;
  int next[1] = {me == ranks - 1 ? 1 : me + 1};
  int last[1] = {me == 1 ? ranks - 1 : me - 1};
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, alone ? 0 : 1, last, unweighted, alone ? 0 : 1,
                                 next, unweighted, MPI_INFO_NULL, 0, &comm);
  for (int round = 0; round < 100; ++round) {
    int64_t out = round * 1000 + me;
    int64_t in = -1;
    const int count = alone ? 0 : 1;
    MPI_Neighbor_alltoall(&out, count, MPI_INT64_T, &in, count, MPI_INT64_T, comm);
    require(alone || in == round * 1000 + last[0], "round %d: %lld", round, (long long)in);
    if (round == 50) {  // the others are through before it calls anything else
      int token = 0;
      if (me == 1) MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
      if (alone) MPI_Recv(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

// Parts that are larger than expected.
static void truncated(void) {
  if (ranks < 2) return;
  doing("a part that is too large");
  const int dims[1] = {ranks};
  const int periods[1] = {1};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int count = 4; count < 100000; count *= 9) {
    const int counts[2] = {count, count};
    const int less[2] = {me == 1 ? count - 1 : count, count};
    const int places[2] = {0, count};
    int64_t* data = list_of((size_t)count * 4 + 1, sizeof *data);
    data[2 * count + count - 1] = me == 1 ? -5 : 0;
    const int status = MPI_Neighbor_alltoallv(data, counts, places, MPI_INT64_T, data + 2 * count,
                                              less, places, MPI_INT64_T, comm);
    int class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) MPI_Error_class(status, &class);
    require(class == (me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%d elements: error class %d",
            count, class);
    require(me != 1 || data[2 * count + count - 1] == -5, "written beyond a buffer");
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  // Open MPI 4.1 would prefer its topo treematch, which now and then numbers a new communicator for ever.
  setenv("OMPI_MCA_topo", "basic", 0);
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int cases = (int)option(argc, argv, "--cases", long_run ? 5000 : 60);
  most = (int)(option(argc, argv, "--most", 8L * most) / 8 + 1);
  const bool other = has_option(argc, argv, "--other");
  random_state = seed;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here;
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  isolated();
  for (int number = 0; number < cases; ++number) one_case(number, other || here < ranks);
  if (!other && here == ranks) truncated();
  return check_end();
}
