// Random programs of one-sided communication against a sequential model. All ranks draw the same program from the
// seed. Each rank executes its part and then plays the whole program alone, in order. It compares every byte of its
// window, and of the results of its gets and fetches.
//
// Cases that the standard leaves open are not drawn. Each origin has a slice in every window, where a put or get
// meets no other access until the epoch ends or it is flushed. There accumulates meet only accumulates of the same
// type. In another part all origins accumulate with the same commutative operation.
//
// Options: --seed N (the first), --programs N, --phases N, --flavor N (of all windows: 0 create, 1 allocate, 2
// allocate_shared, 3 dynamic), --one (one window over the memory, not two, as osc sm needs).
#include "random_data.h"

enum { kSharedBytes = 4096, kMostOps = 12, kMostElements = 80000 };

// --- The program ---

typedef enum { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap, kKinds } Kind;
typedef struct {
  Kind kind;
  Element element;
  Op op;
  int origin, target;
  bool request;
  bool flush_after;  // passive epochs
  size_t offset;     // bytes in the target's window
  Layout here, result, there;
  uint64_t contents;  // the seed of the origin's buffer
} Operation;
typedef enum { fence, scheduled, locked, locked_all, kSyncs } Sync;
static const char* const sync_names[] = {"fence", "post/start", "lock", "lock_all"};
typedef struct {
  Sync sync;
  bool exclusive;
  bool second_window;
  Element shared_element;
  Op shared_op;
  int count;
  Operation ops[64 * kMostOps];
} Phase;

static size_t slice;  // bytes of each origin's part of each window
static size_t window_bytes;
static char** model;     // of each rank's window
static uint16_t** used;  // the accesses of the open epoch to each byte
static Phase phase;

static size_t shared_at(void) { return slice * (size_t)ranks; }

static bool claim(const Operation* op, bool commit) {
  const size_t size = element_size(op->element);
  const bool accumulates = op->kind >= accumulate;
  const uint16_t mark = op->kind == put ? 1 : op->kind == get ? 2 : (uint16_t)(3 + op->element);
  for (size_t i = 0; i < op->there.total; ++i) {
    const size_t at = op->offset + place_of(&op->there, i) * size;
    for (size_t b = 0; b < size; ++b) {
      uint16_t* m = &used[op->target][at + b];
      if (*m != 0 && (*m != mark || (!accumulates && op->kind == put))) return false;
      if (commit) *m = mark;
    }
  }
  return true;
}

static void draw_operation(Operation* op, int origin, int target, uint64_t* state, bool in_shared) {
  memset(op, 0, sizeof *op);
  op->origin = origin;
  op->target = target;
  op->contents = next_random(state);
  op->request = random_below(state, 3) == 0;
  op->flush_after = random_below(state, 4) == 0;
  op->kind = in_shared ? accumulate : (Kind)random_below(state, kKinds);
  op->element = in_shared ? phase.shared_element : (Element)random_below(state, kElements);
  if (op->kind == compare_and_swap) op->element = (Element)random_below(state, of_uint64_t + 1);
  do {
    op->op = in_shared ? phase.shared_op : (Op)random_below(state, kOps);
  } while (!allowed(op->op, op->element) || (op->op == no_op && op->kind == accumulate));
  const size_t size = element_size(op->element);
  const size_t room = (in_shared ? kSharedBytes : slice) / size;
  const bool single = op->kind >= fetch_and_op;
  for (int attempt = 0; attempt < 20; ++attempt) {
    size_t most = room / 4 < kMostElements ? room / 4 : kMostElements;
    if (random_below(state, 3) != 0 && most > 24) most = 24;
    const size_t total = single ? 1 : 1 + random_below(state, most);
    draw_layout(&op->there, total, state);
    if (single) op->there = (Layout){.shape = contiguous, .count = 1, .total = 1, .span = 1};
    if (op->there.span > room) continue;
    const size_t first = in_shared ? shared_at() : slice * (size_t)origin;
    op->offset = first + random_below(state, room - op->there.span + 1) * size;
    if (!in_shared && !claim(op, false)) continue;
    if (!in_shared) claim(op, true);
    draw_layout(&op->here, total, state);
    draw_layout(&op->result, total, state);
    if (single) op->here = op->result = op->there;
    return;
  }
  op->kind = kKinds;  // nothing
}

static void draw_phase(uint64_t* state) {
  phase.sync = (Sync)random_below(state, kSyncs);
  phase.exclusive = random_below(state, 2) == 0;
  phase.second_window = random_below(state, 3) == 0;
  phase.shared_element = (Element)random_below(state, of_uint64_t + 1);
  const Op commutative[] = {sum, prod, max, min, band, bor, bxor};
  phase.shared_op = commutative[random_below(state, 7)];
  phase.count = 0;
  for (int rank = 0; rank < ranks; ++rank) memset(used[rank], 0, window_bytes * sizeof **used);
  for (int origin = 0; origin < ranks; ++origin) {
    const int ops = (int)random_below(state, kMostOps);
    for (int i = 0; i < ops; ++i) {
      Operation* op = &phase.ops[phase.count];
      const int target = (int)random_below(state, (uint64_t)ranks);
      draw_operation(op, origin, target, state, random_below(state, 4) == 0);
      if (op->kind == kKinds) continue;
      ++phase.count;
      const bool passive = phase.sync == locked || phase.sync == locked_all;
      // Under lock each operation is its own epoch; otherwise a flush makes the bytes free again.
      if (passive && (op->flush_after || phase.sync == locked))
        memset(used[target] + slice * (size_t)origin, 0, slice * sizeof **used);
    }
  }
}

// --- The model ---

static char* fill_origin(const Operation* op, const Layout* l) {
  const size_t size = element_size(op->element);
  char* buffer = allocate(l->span * size);
  uint64_t state = op->contents;
  memset(buffer, 0x5a, l->span * size);
  for (size_t i = 0; i < l->total; ++i)
    draw_element(op->element, buffer + place_of(l, i) * size, &state);
  return buffer;
}

// compare_and_swap: succeeds half of the time.
static void draw_compare(const Operation* op, const char* there, char* compare) {
  memcpy(compare, there, element_size(op->element));
  if (op->contents % 2 == 0) compare[0] = (char)(compare[0] + 1);
}

// Applies the operation to the model; `result` receives the result of a get or fetch, or is null.
static void play(const Operation* op, char* result) {
  const size_t size = element_size(op->element);
  char* memory = model[op->target] + op->offset;
  char* origin = fill_origin(op, &op->here);
  for (size_t i = 0; i < op->there.total; ++i) {
    char* there = memory + place_of(&op->there, i) * size;
    const char* here = origin + place_of(&op->here, i) * size;
    if (result != NULL && op->kind != put && op->kind != accumulate)
      copy_element(op->element, result + place_of(&op->result, i) * size, there);
    switch ((int)op->kind) {
      case put: copy_element(op->element, there, here); break;
      case get: break;
      case compare_and_swap: {
        char compare[16];
        draw_compare(op, there, compare);
        if (memcmp(compare, there, size) == 0) memcpy(there, here, size);
        break;
      }
      default: combine(op->op, op->element, there, here);
    }
  }
  free(origin);
}

// --- Executing it ---

typedef struct {
  const Operation* op;
  char *origin, *result, *expected;
  char compare[16];
  MPI_Request request;
} Running;
static Running running[64 * kMostOps];
static int running_count;

static MPI_Win windows[2];
static MPI_Aint* bases;  // of dynamic windows
static bool dynamic;

static void execute(const Operation* op, MPI_Win win, bool passive) {
  const size_t size = element_size(op->element);
  Running* r = &running[running_count++];
  r->op = op;
  r->request = MPI_REQUEST_NULL;
  r->origin = fill_origin(op, &op->here);
  r->result = allocate(op->result.span * size);
  r->expected = allocate(op->result.span * size);
  memset(r->result, 0x33, op->result.span * size);
  memset(r->expected, 0x33, op->result.span * size);
  if (op->kind == compare_and_swap) draw_compare(op, model[op->target] + op->offset, r->compare);
  play(op, r->expected);
  MPI_Datatype here = make_type(&op->here, op->element), there = make_type(&op->there, op->element),
               result = make_type(&op->result, op->element);
  const MPI_Aint disp = (dynamic ? bases[op->target] : 0) + (MPI_Aint)op->offset;
  const MPI_Op mpi = mpi_op(op->op);
  const bool request = op->request && passive;
  switch ((int)op->kind) {
    case put:
      if (request)
        MPI_Rput(r->origin, op->here.count, here, op->target, disp, op->there.count, there, win,
                 &r->request);
      else
        MPI_Put(r->origin, op->here.count, here, op->target, disp, op->there.count, there, win);
      break;
    case get:
      if (request)
        MPI_Rget(r->result, op->result.count, result, op->target, disp, op->there.count, there, win,
                 &r->request);
      else
        MPI_Get(r->result, op->result.count, result, op->target, disp, op->there.count, there, win);
      break;
    case accumulate:
      if (request)
        MPI_Raccumulate(r->origin, op->here.count, here, op->target, disp, op->there.count, there,
                        mpi, win, &r->request);
      else
        MPI_Accumulate(r->origin, op->here.count, here, op->target, disp, op->there.count, there,
                       mpi, win);
      break;
    case get_accumulate:
      if (request)
        MPI_Rget_accumulate(r->origin, op->here.count, here, r->result, op->result.count, result,
                            op->target, disp, op->there.count, there, mpi, win, &r->request);
      else
        MPI_Get_accumulate(r->origin, op->here.count, here, r->result, op->result.count, result,
                           op->target, disp, op->there.count, there, mpi, win);
      break;
    case fetch_and_op:
      MPI_Fetch_and_op(r->origin, r->result, element_type(op->element), op->target, disp, mpi, win);
      break;
    default:
      MPI_Compare_and_swap(r->origin, r->compare, r->result, element_type(op->element), op->target,
                           disp, win);
  }
  drop_type(&op->here, &here);
  drop_type(&op->there, &there);
  drop_type(&op->result, &result);
}

static const char* kind_name(Kind kind) {
  static const char* const names[] = {
      "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
  return names[kind];
}

// Compares the results of all operations that were started; all of them have ended.
static void check_results(int index) {
  for (int i = 0; i < running_count; ++i) {
    Running* r = &running[i];
    const Operation* op = r->op;
    const size_t bytes = op->result.span * element_size(op->element);
    if (r->request != MPI_REQUEST_NULL) MPI_Wait(&r->request, MPI_STATUS_IGNORE);
    for (size_t b = 0; b < bytes; ++b)
      require(r->result[b] == r->expected[b],
              "phase %d (%s): %s at %d, element %d, op %d, %zu elements in shape %d: byte %zu of "
              "the result is %02x, "
              "not %02x",
              index, sync_names[phase.sync], kind_name(op->kind), op->target, op->element, op->op,
              op->there.total, op->there.shape, b, (unsigned char)r->result[b],
              (unsigned char)r->expected[b]);
    free(r->origin), free(r->result), free(r->expected);
  }
  running_count = 0;
}

static bool touches(int origin, int target) {
  for (int i = 0; i < phase.count; ++i)
    if (phase.ops[i].origin == origin && phase.ops[i].target == target) return true;
  return false;
}

static MPI_Group partners(bool as_origin) {
  int list[64], count = 0;
  MPI_Group world, group;
  for (int rank = 0; rank < ranks; ++rank)
    if (as_origin ? touches(me, rank) : touches(rank, me)) list[count++] = rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, list, &group);
  MPI_Group_free(&world);
  return group;
}

static void wait_requests(int target) {
  for (int i = 0; i < running_count; ++i)
    if (running[i].request != MPI_REQUEST_NULL && running[i].op->target == target)
      MPI_Wait(&running[i].request, MPI_STATUS_IGNORE);
}

static void run_phase(int index) {
  const MPI_Win win = windows[phase.second_window ? 1 : 0];
  const bool passive = phase.sync == locked || phase.sync == locked_all;
  MPI_Group targets = MPI_GROUP_NULL, origins = MPI_GROUP_NULL;
  doing("phase %d: begin %s", index, sync_names[phase.sync]);
  switch ((int)phase.sync) {
    case fence: MPI_Win_fence(0, win); break;
    case scheduled:
      targets = partners(true);
      origins = partners(false);
      MPI_Win_post(origins, 0, win);
      MPI_Win_start(targets, 0, win);
      break;
    case locked_all: MPI_Win_lock_all(0, win); break;
    default: break;
  }
  for (int i = 0; i < phase.count; ++i) {
    const Operation* op = &phase.ops[i];
    doing("phase %d (%s): %s from %d at %d, %zu elements", index, sync_names[phase.sync],
          kind_name(op->kind), op->origin, op->target, op->there.total);
    if (op->origin != me) {
      play(op, NULL);
      continue;
    }
    if (phase.sync == locked)
      MPI_Win_lock(phase.exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, op->target, 0, win);
    execute(op, win, passive);
    if (phase.sync == locked) {
      wait_requests(op->target);
      MPI_Win_unlock(op->target, win);
    } else if (phase.sync == locked_all && op->flush_after) {
      MPI_Win_flush(op->target, win);
    }
  }
  doing("phase %d: end %s", index, sync_names[phase.sync]);
  for (int target = 0; target < ranks; ++target) wait_requests(target);
  switch ((int)phase.sync) {
    case fence: MPI_Win_fence(MPI_MODE_NOSUCCEED, win); break;
    case scheduled:
      MPI_Win_complete(win);
      doing("phase %d: wait", index);
      if (index % 2 == 0) {
        MPI_Win_wait(win);
      } else {
        for (int flag = 0; !flag;) MPI_Win_test(win, &flag);
      }
      MPI_Group_free(&targets);
      MPI_Group_free(&origins);
      break;
    case locked_all: MPI_Win_unlock_all(win); break;
    default: break;
  }
  check_results(index);
  doing("phase %d: barrier", index);
  MPI_Barrier(MPI_COMM_WORLD);
}

// The operations of the phase that could have changed the byte.
static void tell_operations(size_t byte) {
  for (int i = 0; i < phase.count; ++i) {
    const Operation* op = &phase.ops[i];
    const size_t size = element_size(op->element);
    if (op->target != me || byte < op->offset || byte >= op->offset + op->there.span * size)
      continue;
    fprintf(stderr,
            "%s%s from %d: element %d, op %d, %zu elements at %zu, shapes %d here, %d there%s\n",
            op->request ? "r" : "", kind_name(op->kind), op->origin, op->element, op->op,
            op->there.total, op->offset, op->here.shape, op->there.shape,
            op->flush_after ? ", flush" : "");
  }
}

static void check_memory(const char* memory, int index) {
  for (size_t b = 0; b < window_bytes; ++b) {
    if (memory[b] != model[me][b]) tell_operations(b);
    require(memory[b] == model[me][b],
            "phase %d (%s): byte %zu (of %s) of the window is %02x, not %02x", index,
            sync_names[phase.sync], b, b < shared_at() ? "an origin's slice" : "the common part",
            (unsigned char)memory[b], (unsigned char)model[me][b]);
  }
}

// `flavors`: how many of create, allocate, allocate_shared, dynamic; `only`: this one; `two`: windows over the memory.
static void run_program(uint64_t number, int phases, int flavors, long only, bool two) {
  uint64_t state = scramble(number);
  const size_t slices[] = {256, 1024, 4096, 40000, 300000};
  slice = slices[random_below(&state, ranks > 4 ? 4 : 5)];
  window_bytes = shared_at() + kSharedBytes;
  model = allocate((size_t)ranks * sizeof *model);
  used = allocate((size_t)ranks * sizeof *used);
  for (int rank = 0; rank < ranks; ++rank) {
    model[rank] = calloc(window_bytes, 1);
    used[rank] = calloc(window_bytes, sizeof **used);
  }
  char* memory = NULL;
  MPI_Win shared = MPI_WIN_NULL;
  const int drawn = (int)random_below(&state, flavors);
  const int flavor = only >= 0 ? (int)only : drawn;
  dynamic = flavor == 3;
  doing("program %llu: windows of flavor %d", (unsigned long long)number, flavor);
  const MPI_Aint bytes = (MPI_Aint)window_bytes;
  if (flavor == 1) {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared);
    windows[0] = shared;
  } else if (flavor == 2) {
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared);
    windows[0] = shared;
  } else {
    memory = allocate(window_bytes);
  }
  memset(memory, 0, window_bytes);
  if (flavor == 0) MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]);
  if (dynamic) {
    MPI_Aint base;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]);
    MPI_Win_attach(windows[0], memory, bytes);
    MPI_Get_address(memory, &base);
    MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
  }
  // A second window over the same memory, used in other phases. Atomicity is of one window.
  if (dynamic) two = false;
  windows[1] = windows[0];
  if (two) MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < phases; ++i) {
    draw_phase(&state);
    run_phase(i);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, windows[0]);
    check_memory(memory, i);
    MPI_Win_unlock(me, windows[0]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  doing("program %llu: free", (unsigned long long)number);
  if (dynamic) MPI_Win_detach(windows[0], memory);
  if (two) MPI_Win_free(&windows[1]);
  MPI_Win_free(&windows[0]);
  if (flavor == 0 || dynamic) free(memory);
  for (int rank = 0; rank < ranks; ++rank) free(model[rank]), free(used[rank]);
  free(model), free(used);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks <= 64, "at most 64 ranks");
  bases = allocate((size_t)ranks * sizeof *bases);
  const long programs = option(argc, argv, "--programs", long_run ? 1000 : 40);
  const int phases = (int)option(argc, argv, "--phases", 6);
  MPI_Comm host;
  int on_host = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_host);
  MPI_Comm_free(&host);
  const int flavors = on_host < ranks ? 2 : 4;
  const long only = option(argc, argv, "--flavor", -1);
  const uint64_t first = seed;
  for (long i = 0; i < programs; ++i) {
    seed = first + (uint64_t)i;
    alarm(watchdog_seconds(option(argc, argv, "--limit", 0)));
    run_program(seed, phases, flavors, only, !has_option(argc, argv, "--one"));
  }
  free(bases);
  return check_end();
}
