// Derived datatypes: elements sent with a type arrive in the same elements, and the gaps between them stay
// untouched. Typed to contiguous, contiguous to typed, typed to typed, and packed.
#include "check.h"

// A layout is the int positions of one item, in type-map order, and the item's extent in ints.
typedef struct {
  const char* name;
  MPI_Datatype type;
  int elements;
  int extent;
  int position[64];
} Layout;

enum { kLayouts = 8, kGap = 0x5a5a5a5a };

static Layout layouts[kLayouts];

static Layout* add_layout(const char* name, MPI_Datatype type, int extent) {
  static int n = 0;
  Layout* layout = &layouts[n++];
  layout->name = name;
  layout->type = type;
  layout->extent = extent;
  layout->elements = 0;
  MPI_Type_commit(&layout->type);
  return layout;
}

static void add_run(Layout* layout, int first, int length) {
  for (int i = 0; i < length; ++i) layout->position[layout->elements++] = first + i;
}

static void make_layouts(void) {
  MPI_Datatype type, inner;

  MPI_Type_contiguous(3, MPI_INT, &type);
  add_run(add_layout("contiguous", type, 3), 0, 3);

  MPI_Type_vector(4, 2, 5, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 20 * (MPI_Aint)sizeof(int), &type);
  Layout* layout = add_layout("vector", type, 20);
  for (int i = 0; i < 4; ++i) add_run(layout, 5 * i, 2);
  MPI_Type_free(&inner);

  MPI_Type_vector(1, 1, 1, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 2 * (MPI_Aint)sizeof(int), &type);
  add_run(add_layout("every other int", type, 2), 0, 1);
  MPI_Type_free(&inner);

  const int lengths[] = {3, 0, 1, 6}, places[] = {9, 2, 0, 14};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 24 * (MPI_Aint)sizeof(int), &type);
  layout = add_layout("indexed, not ascending", type, 24);
  for (int i = 0; i < 4; ++i) add_run(layout, places[i], lengths[i]);
  MPI_Type_free(&inner);

  const int blocks[] = {1, 4, 2};
  const MPI_Aint offsets[] = {2 * (MPI_Aint)sizeof(int), 8 * (MPI_Aint)sizeof(int),
                              4 * (MPI_Aint)sizeof(int)};
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT, MPI_UNSIGNED};
  MPI_Type_create_struct(3, blocks, offsets, types, &inner);
  MPI_Type_create_resized(inner, 0, 13 * (MPI_Aint)sizeof(int), &type);
  layout = add_layout("struct", type, 13);
  add_run(layout, 2, 1), add_run(layout, 8, 4), add_run(layout, 4, 2);
  MPI_Type_free(&inner);

  const int sizes[] = {4, 6}, part[] = {2, 3}, start[] = {1, 2};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
  layout = add_layout("subarray", type, 24);
  for (int row = 1; row < 3; ++row) add_run(layout, row * 6 + 2, 3);

  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MPI_Type_create_hvector(3, 1, 8 * (MPI_Aint)sizeof(int), inner, &type);
  MPI_Type_free(&inner);
  MPI_Type_create_resized(type, 0, 32 * (MPI_Aint)sizeof(int), &inner);
  MPI_Type_free(&type);
  layout = add_layout("vector of vectors", inner, 32);
  for (int i = 0; i < 3; ++i) add_run(layout, 8 * i, 1), add_run(layout, 8 * i + 3, 1);

  const int at[] = {0, 7, 3};
  MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 9 * (MPI_Aint)sizeof(int), &type);
  layout = add_layout("indexed blocks, no gap at the end", type, 9);
  for (int i = 0; i < 3; ++i) add_run(layout, at[i], 2);
  MPI_Type_free(&inner);
}

static int value(int from, int to, int number, int index) {
  return (int)(word_at(key_of(from, to, (uint64_t)number), (size_t)index) & 0x3fffffff);
}

static int* new_ints(size_t n) {
  int* data = allocate(n * sizeof *data);
  for (size_t i = 0; i < n; ++i) data[i] = kGap;
  return data;
}

static void put_values(int* data, const Layout* layout, int count, int to, int number) {
  for (int i = 0, index = 0; i < count; ++i)
    for (int j = 0; j < layout->elements; ++j, ++index)
      data[i * layout->extent + layout->position[j]] = value(me, to, number, index);
}

static void check_values(int* data, const Layout* layout, int count, int from, int number) {
  int index = 0;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < layout->elements; ++j, ++index) {
      int* at = &data[i * layout->extent + layout->position[j]];
      require(*at == value(from, me, number, index), "peer %d, %s x %d: element %d is %x, not %x",
              from, layout->name, count, index, (unsigned)*at,
              (unsigned)value(from, me, number, index));
      *at = kGap;
    }
  for (int i = 0; i < count * layout->extent; ++i)
    require(data[i] == kGap, "peer %d, %s x %d: gap at int %d written", from, layout->name, count,
            i);
}

// Every pair of layouts with the same number of elements in all, `total` at least.
static void exchange(const Layout* send, const Layout* receive, int total, int number) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  int send_count = receive->elements, receive_count = send->elements;
  const int times = 1 + total / (send_count * send->elements);
  send_count *= times;
  receive_count *= times;
  int* out = new_ints((size_t)send_count * (size_t)send->extent);
  int* in = new_ints((size_t)receive_count * (size_t)receive->extent);
  put_values(out, send, send_count, to, number);
  doing("%s x %d to %d, %s x %d from %d", send->name, send_count, to, receive->name, receive_count,
        from);
  MPI_Status status;
  MPI_Request request;
  MPI_Irecv(in, receive_count, receive->type, from, number, MPI_COMM_WORLD, &request);
  MPI_Send(out, send_count, send->type, to, number, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  int count = -1;
  MPI_Get_count(&status, receive->type, &count);
  require(count == receive_count, "peer %d, %s: count %d, not %d", from, receive->name, count,
          receive_count);
  check_values(in, receive, receive_count, from, number);
  free(in);
  free(out);
}

// Packed on one side, typed on the other.
static void packed(const Layout* layout, int count, int number) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  const size_t ints = (size_t)count * (size_t)layout->extent;
  int size = 0, used = 0, arrived = 0;
  MPI_Pack_size(count, layout->type, MPI_COMM_WORLD, &size);
  char* out = allocate((size_t)size);
  char* in = allocate((size_t)size);
  int* data = new_ints(ints);
  put_values(data, layout, count, to, number);
  MPI_Pack(data, count, layout->type, out, size, &used, MPI_COMM_WORLD);
  MPI_Status status;
  MPI_Request requests[2];
  int* typed = new_ints(ints);
  doing("%s x %d packed, %d bytes to %d", layout->name, count, used, to);
  MPI_Irecv(in, size, MPI_PACKED, from, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(typed, count, layout->type, from, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(data, count, layout->type, to, 1, MPI_COMM_WORLD);
  MPI_Send(out, used, MPI_PACKED, to, 2, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], &status);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Get_count(&status, MPI_PACKED, &arrived);
  require(arrived == used, "peer %d, %s x %d packed: %d bytes, not %d", from, layout->name, count,
          arrived, used);
  check_values(typed, layout, count, from, number);
  for (size_t i = 0; i < ints; ++i) data[i] = kGap;
  int place = 0;
  MPI_Unpack(in, arrived, &place, data, count, layout->type, MPI_COMM_WORLD);
  check_values(data, layout, count, from, number);
  free(typed), free(data), free(in), free(out);
}

// A type with nothing in it, and a C struct with padding.
static void special(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  MPI_Datatype empty;
  MPI_Status status;
  int count = -1, untouched = 5;
  doing("empty type");
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Sendrecv(&untouched, 3, empty, to, 1, &untouched, 3, empty, from, 1, MPI_COMM_WORLD, &status);
  MPI_Get_elements(&status, MPI_INT, &count);
  require(count == 0 && untouched == 5, "peer %d: an empty type brought %d elements", from, count);
  MPI_Type_free(&empty);

  typedef struct {
    char letter;
    double number;
    short three[3];
    int last;
  } Record;
  enum { kRecords = 3000 };
  static Record out[kRecords], in[kRecords];
  const int lengths[] = {1, 1, 3, 1};
  const MPI_Aint offsets[] = {offsetof(Record, letter), offsetof(Record, number),
                              offsetof(Record, three), offsetof(Record, last)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
  MPI_Datatype inner, record;
  MPI_Type_create_struct(4, lengths, offsets, types, &inner);
  MPI_Type_create_resized(inner, 0, sizeof(Record), &record);
  MPI_Type_commit(&record);
  for (int i = 0; i < kRecords; ++i)
    out[i] =
        (Record){(char)(i + me), i * 0.5 + me, {(short)i, (short)me, (short)(i ^ me)}, i * 7 + me};
  doing("records from %d", from);
  MPI_Sendrecv(out, kRecords, record, to, 1, in, kRecords, record, from, 1, MPI_COMM_WORLD,
               &status);
  for (int i = 0; i < kRecords; ++i)
    require(in[i].letter == (char)(i + from) && in[i].number == i * 0.5 + from &&
                in[i].three[0] == (short)i && in[i].three[1] == from &&
                in[i].three[2] == (short)(i ^ from) && in[i].last == i * 7 + from,
            "peer %d: record %d is wrong", from, i);
  MPI_Type_free(&inner);
  MPI_Type_free(&record);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  make_layouts();
  // Elements: one short message, around the eager limit, rendezvous, several fragments.
  const int totals[] = {1, 900, 1030, 9000, 70000, long_run ? 16000000 : 600000};
  int number = 0;
  for (size_t t = 0; t < sizeof totals / sizeof *totals; ++t)
    for (int i = 0; i < kLayouts; ++i)
      for (int j = 0; j < kLayouts; ++j)
        if (totals[t] < 100000 || i == 0 || j == 0 || (i == 2 && j == 2))
          exchange(&layouts[i], &layouts[j], totals[t], ++number);
  for (int i = 0; i < kLayouts; ++i)
    for (int count = 0; count < 60000; count = 3 * count + 1) packed(&layouts[i], count, ++number);
  special();
  for (int i = 0; i < kLayouts; ++i) MPI_Type_free(&layouts[i].type);
  return check_end();
}
