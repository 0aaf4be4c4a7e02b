// Every predefined operation on every predefined type that MPI allows it on, by all ranks at once at one target:
// accumulate, get_accumulate, fetch_and_op, compare_and_swap. They are atomic: no update is lost, and the fetched
// values are those between the updates.
#include <complex.h>

#include "check.h"

enum { kElements = 37, kRounds = 8 };

typedef struct {
  double value;
  int index;
} Number;  // the meaning of an element, for all types

typedef struct {
  const char* name;
  MPI_Datatype type;
  size_t size;
  enum { integer, real, complex_number, boolean, pair } class;
  void (*store)(void* to, Number number);
  Number (*load)(const void* from);
} Type;

#define ACCESS(name, ctype)                           \
  static void store_##name(void* to, Number number) { \
    const ctype value = (ctype)number.value;          \
    memcpy(to, &value, sizeof value);                 \
  }                                                   \
  static Number load_##name(const void* from) {       \
    ctype value;                                      \
    memcpy(&value, from, sizeof value);               \
    return (Number){(double)value, 0};                \
  }
#define ACCESS_PAIR(name, ctype)                           \
  typedef struct {                                         \
    ctype value;                                           \
    int index;                                             \
  } Pair_##name;                                           \
  static void store_pair_##name(void* to, Number number) { \
    Pair_##name item;                                      \
    memset(&item, 0, sizeof item);                         \
    item.value = (ctype)number.value;                      \
    item.index = number.index;                             \
    memcpy(to, &item, sizeof item);                        \
  }                                                        \
  static Number load_pair_##name(const void* from) {       \
    Pair_##name item;                                      \
    memcpy(&item, from, sizeof item);                      \
    return (Number){(double)item.value, item.index};       \
  }
#define ACCESS_COMPLEX(name, ctype)                                 \
  static void store_##name(void* to, Number number) {               \
    const ctype complex value = (ctype)number.value;                \
    memcpy(to, &value, sizeof value);                               \
  }                                                                 \
  static Number load_##name(const void* from) {                     \
    ctype complex value;                                            \
    memcpy(&value, from, sizeof value);                             \
    return (Number){(double)creall((long double complex)value), 0}; \
  }
// clang-format off: it treats a list of macros as a declaration
ACCESS(schar, signed char)
ACCESS(uchar, unsigned char)
ACCESS(short, short)
ACCESS(ushort, unsigned short)
ACCESS(int, int)
ACCESS(unsigned, unsigned)
ACCESS(long, long)
ACCESS(ulong, unsigned long)
ACCESS(llong, long long)
ACCESS(ullong, unsigned long long)
ACCESS(float, float)
ACCESS(double, double)
ACCESS(ldouble, long double)
ACCESS(bool, _Bool)
ACCESS(aint, MPI_Aint)
ACCESS(offset, MPI_Offset)
ACCESS_COMPLEX(cfloat, float)
ACCESS_COMPLEX(cdouble, double)
ACCESS_COMPLEX(cldouble, long double)
ACCESS_PAIR(short, short)
ACCESS_PAIR(int, int)
ACCESS_PAIR(long, long)
ACCESS_PAIR(float, float)
ACCESS_PAIR(double, double)
ACCESS_PAIR(ldouble, long double)
// clang-format on

#define TYPE(mpi, ctype, class, name) \
  { #mpi, mpi, sizeof(ctype), class, store_##name, load_##name }
#define TYPE_PAIR(mpi, name) \
  { #mpi, mpi, sizeof(Pair_##name), pair, store_pair_##name, load_pair_##name }

static MPI_Win win;
static char* memory;
static MPI_Aint base;  // of rank 0's memory; 0 unless the window is dynamic

static void put_numbers(const Type* type, char* to, Number (*number)(int), size_t n) {
  for (size_t i = 0; i < n; ++i) type->store(to + i * type->size, number((int)i));
}

static Number mine(int i) { return (Number){(double)((i + me) % 3 + 1), me}; }
static Number theirs(int rank, int i) { return (Number){(double)((i + rank) % 3 + 1), rank}; }
static Number start_value(int i) { return (Number){(double)(i % 2), 50}; }

static double apply(MPI_Op op, double a, double b) {
  const long long x = (long long)a, y = (long long)b;
  if (op == MPI_SUM) return a + b;
  if (op == MPI_PROD) return a * b;
  if (op == MPI_MAX) return a > b ? a : b;
  if (op == MPI_MIN) return a < b ? a : b;
  if (op == MPI_BAND) return (double)(x & y);
  if (op == MPI_BOR) return (double)(x | y);
  if (op == MPI_BXOR) return (double)(x ^ y);
  if (op == MPI_LAND) return a != 0 && b != 0;
  if (op == MPI_LOR) return a != 0 || b != 0;
  return (a != 0) != (b != 0);
}

static Number expected_of(MPI_Op op, int i) {
  Number all = start_value(i);
  for (int rank = 0; rank < ranks; ++rank) {
    const Number one = theirs(rank, i);
    if (op == MPI_MAXLOC || op == MPI_MINLOC) {
      const bool better = op == MPI_MAXLOC ? one.value > all.value : one.value < all.value;
      if (better || (one.value == all.value && one.index < all.index)) all = one;
    } else {
      all.value = apply(op, all.value, one.value);
    }
  }
  return all;
}

static void check_numbers(const Type* type, const char* what, MPI_Op op, const char* op_name) {
  for (int i = 0; i < kElements; ++i) {
    const Number got = type->load(memory + (size_t)i * type->size), expected = expected_of(op, i);
    require(got.value == expected.value && (type->class != pair || got.index == expected.index),
            "%s %s of %s: element %d is {%g, %d}, not {%g, %d}", what, op_name, type->name, i,
            got.value, got.index, expected.value, expected.index);
  }
}

static bool allowed(const Type* type, MPI_Op op) {
  const bool location = op == MPI_MAXLOC || op == MPI_MINLOC;
  const bool logical = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
  const bool bitwise = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
  switch ((int)type->class) {
    case pair: return location;
    case integer: return !location;
    case boolean: return logical;
    case real: return !location && !logical && !bitwise;
    default: return op == MPI_SUM || op == MPI_PROD;
  }
}

// Once with accumulate, once with get_accumulate, once element by element with fetch_and_op.
static void combine(const Type* type, MPI_Op op, const char* op_name) {
  static const char* const ways[] = {"accumulate", "get_accumulate", "fetch_and_op"};
  char out[kElements * 32], in[kElements * 32];
  put_numbers(type, out, mine, kElements);
  for (int way = 0; way < 3; ++way) {
    doing("%s %s of %s", ways[way], op_name, type->name);
    if (me == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      put_numbers(type, memory, start_value, kElements);
      MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    switch (way) {
      case 0:
        MPI_Accumulate(out, kElements, type->type, 0, base, kElements, type->type, op, win);
        break;
      case 1:
        MPI_Get_accumulate(out, kElements, type->type, in, kElements, type->type, 0, base,
                           kElements, type->type, op, win);
        break;
      default:
        for (int i = 0; i < kElements; ++i)
          MPI_Fetch_and_op(out + (size_t)i * type->size, in + (size_t)i * type->size, type->type, 0,
                           base + (MPI_Aint)((size_t)i * type->size), op, win);
    }
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
      check_numbers(type, ways[way], op, op_name);
      MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Replace and no_op: each value read is the whole value that one rank has written.
static void exchange(const Type* type) {
  char out[32], in[32];
  doing("replace of %s", type->name);
  type->store(out, (Number){(double)(1 + me % 2), 1 + me % 2});
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    type->store(memory, (Number){1, 1});
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Get_accumulate(out, 1, type->type, in, 1, type->type, 0, base, 1, type->type,
                       i % 2 ? MPI_NO_OP : MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    const Number seen = type->load(in);
    require((seen.value == 1 || (seen.value == 2 && type->class != boolean)) &&
                (type->class != pair || seen.index == (int)seen.value),
            "replace of %s: {%g, %d}, which nobody wrote", type->name, seen.value, seen.index);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Counting by compare_and_swap.
static void swap(const Type* type) {
  char seen[8], wanted[8], old[8];
  doing("compare_and_swap of %s", type->name);
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    type->store(memory, (Number){0, 0});
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  type->store(seen, (Number){0, 0});
  for (int done = 0; done < kRounds;) {
    type->store(wanted, (Number){type->load(seen).value + 1, 0});
    MPI_Compare_and_swap(wanted, seen, old, type->type, 0, base, win);
    MPI_Win_flush(0, win);
    if (memcmp(old, seen, type->size) == 0) {
      ++done;
      memcpy(seen, wanted, type->size);
    } else {
      memcpy(seen, old, type->size);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    const double total = type->load(memory).value;
    require(total == kRounds * ranks, "compare_and_swap of %s counted to %g, not %d", type->name,
            total, kRounds * ranks);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks < 8, "at most 7 ranks: products must fit into a byte");
  const Type types[] = {
      TYPE(MPI_SIGNED_CHAR, signed char, integer, schar),
      TYPE(MPI_UNSIGNED_CHAR, unsigned char, integer, uchar),
      TYPE(MPI_SHORT, short, integer, short),
      TYPE(MPI_UNSIGNED_SHORT, unsigned short, integer, ushort),
      TYPE(MPI_INT, int, integer, int),
      TYPE(MPI_UNSIGNED, unsigned, integer, unsigned),
      TYPE(MPI_LONG, long, integer, long),
      TYPE(MPI_UNSIGNED_LONG, unsigned long, integer, ulong),
      TYPE(MPI_LONG_LONG, long long, integer, llong),
      TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, integer, ullong),
      TYPE(MPI_INT8_T, int8_t, integer, schar),
      TYPE(MPI_UINT8_T, uint8_t, integer, uchar),
      TYPE(MPI_INT16_T, int16_t, integer, short),
      TYPE(MPI_UINT16_T, uint16_t, integer, ushort),
      TYPE(MPI_INT32_T, int32_t, integer, int),
      TYPE(MPI_UINT32_T, uint32_t, integer, unsigned),
      TYPE(MPI_INT64_T, int64_t, integer, long),
      TYPE(MPI_UINT64_T, uint64_t, integer, ulong),
      TYPE(MPI_AINT, MPI_Aint, integer, aint),
      TYPE(MPI_OFFSET, MPI_Offset, integer, offset),
      TYPE(MPI_FLOAT, float, real, float),
      TYPE(MPI_DOUBLE, double, real, double),
      TYPE(MPI_LONG_DOUBLE, long double, real, ldouble),
      TYPE(MPI_C_BOOL, _Bool, boolean, bool),
      TYPE(MPI_C_FLOAT_COMPLEX, float complex, complex_number, cfloat),
      TYPE(MPI_C_DOUBLE_COMPLEX, double complex, complex_number, cdouble),
      TYPE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, complex_number, cldouble),
      TYPE_PAIR(MPI_SHORT_INT, short),
      TYPE_PAIR(MPI_2INT, int),
      TYPE_PAIR(MPI_LONG_INT, long),
      TYPE_PAIR(MPI_FLOAT_INT, float),
      TYPE_PAIR(MPI_DOUBLE_INT, double),
      TYPE_PAIR(MPI_LONG_DOUBLE_INT, ldouble),
  };
  const struct {
    MPI_Op op;
    const char* name;
  } ops[] = {{MPI_SUM, "sum"},   {MPI_PROD, "prod"},     {MPI_MAX, "max"},
             {MPI_MIN, "min"},   {MPI_BAND, "band"},     {MPI_BOR, "bor"},
             {MPI_BXOR, "bxor"}, {MPI_LAND, "land"},     {MPI_LOR, "lor"},
             {MPI_LXOR, "lxor"}, {MPI_MAXLOC, "maxloc"}, {MPI_MINLOC, "minloc"}};
  const MPI_Aint bytes = kElements * 32;
  int combinations = 0;
  for (int flavor = 0; flavor < 3; ++flavor) {
    base = 0;
    if (flavor != 0) memory = allocate((size_t)bytes);
    if (flavor == 0) MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (flavor == 1) MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (flavor == 2) {
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      MPI_Win_attach(win, memory, bytes);
      MPI_Get_address(memory, &base);
      MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o)
        if (allowed(&types[t], ops[o].op))
          combine(&types[t], ops[o].op, ops[o].name), ++combinations;
      exchange(&types[t]);
      if (types[t].class == integer) swap(&types[t]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (flavor == 2) MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    if (flavor != 0) free(memory);
  }
  if (me == 0) printf("%d combinations of operation, type and window\n", combinations);
  return check_end();
}
