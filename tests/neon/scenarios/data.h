// Scenarios of the data that is moved: sizes, datatypes, ends of buffers, the other direction.
#pragma once
#include <sys/mman.h>

#include "window.h"

static void t18_overrun(void) {
  // The buffer ends at a page that may not be touched.
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char* pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0, "guard page");
  memory = pages;
  MPI_Win_create(pages, (MPI_Aint)page, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
  unsigned char data[64];
  memset(data, 0xff, sizeof data);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    int error = MPIX_Neon_announce_init((MPI_Aint)page - 10, 20, 1, &one, kTag, 0, win, &ann);
    require(error == MPI_ERR_RMA_RANGE, "announced beyond the window: %d", error);
    announce_init((MPI_Aint)page - 32, 32, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    error = MPI_Wait(&ann, MPI_STATUS_IGNORE);
    require(error == MPI_ERR_RMA_RANGE, "overrun: %d", error);
    for (size_t i = 0; i < page; ++i) require(pages[i] == 0, "byte %zu was written", i);
    if (ann != MPI_REQUEST_NULL) MPI_Request_free(&ann);
  } else if (me == 1) {
    put(data, 33, 0, kTag, 0, MPIX_NEON_NON_FINAL, NULL);
    put(data, 1, 0, kTag, 32, MPIX_NEON_FINAL, NULL);
    MPIX_Neon_complete(0, win);
  }
  close_window();
  munmap(pages, 2 * page);
}

// The origin knows the size of the buffer by then, because a large put needs the announcement.
static void pieces_beyond(void) {
  enum { kSize = 40000, kPiece = 1000 };
  const int one = 1;
  open_window(kSize);
  if (me == 0) {
    MPI_Request ann;
    announce_init(0, kSize, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    for (size_t i = 0; i < kSize; ++i) require(memory[i] == 1, "byte %zu is %d", i, memory[i]);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    static unsigned char data[kSize];
    const int lengths[2] = {kPiece, kPiece};
    const MPI_Aint places[2] = {0, kSize - kPiece / 2};
    MPI_Datatype pieces;
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    memset(data, 1, sizeof data);
    put(data, kSize, 0, kTag, 0, MPIX_NEON_NON_FINAL, NULL);
    MPIX_Neon_complete(0, win);
    memset(data, 2, sizeof data);
    const int error =
        MPIX_Neon_put(data, 2 * kPiece, MPI_BYTE, 0, kTag, 0, 1, pieces, 0, win, NULL);
    require(error == MPI_ERR_RMA_RANGE, "the second piece lies beyond the buffer: %d", error);
    MPIX_Neon_notify(0, kTag, win);
    MPIX_Neon_complete(0, win);
    MPI_Type_free(&pieces);
  }
  close_window();
}

static void pieces_early(void) {
  enum { kSize = 64 };
  const int one = 1;
  open_window(kSize);
  MPI_Request request;
  if (me == 1) {
    const uint64_t data[2] = {1, 2};
    const int lengths[2] = {8, 8};
    const MPI_Aint places[2] = {0, kSize - 4};
    MPI_Datatype pieces;
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    require(MPIX_Neon_put(data, 2, MPI_UINT64_T, 0, kTag, 0, 1, pieces, MPIX_NEON_STRONG, win,
                          &request) == MPI_SUCCESS,
            "put");
    MPI_Type_free(&pieces);
    barrier();
    const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(error == MPI_ERR_RMA_RANGE, "the second piece lies beyond the buffer: %d", error);
  } else {
    barrier();
  }
  if (me == 0) {
    announce_init(0, kSize, 1, &one, kTag, &request);
    MPI_Start(&request);
    const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(error == MPI_ERR_RMA_RANGE, "a piece beyond the buffer: %d", error);
    for (size_t i = 0; i < kSize; ++i) require(memory[i] == 0, "byte %zu is %d", i, memory[i]);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  close_window();
}

static void t19_sizes(void) {
  static const size_t sizes[] = {0,          1,      7,          8,     4095,   4096,
                                 kEager - 1, kEager, kEager + 1, 65536, 1000003};
  enum { kSizes = sizeof sizes / sizeof *sizes };
  const bool huge = long_run;
  const size_t beyond = ((size_t)1 << 31) + 5;
  open_window(huge ? beyond : 1000003);
  unsigned char* data = allocate(huge ? beyond : 1000003);
  MPI_Request ann;
  const int one = 1;
  for (int i = 0; i < kSizes + (huge ? 1 : 0) && me < 2; ++i) {
    const size_t size = i < kSizes ? sizes[i] : beyond;
    doing("T19 %zu bytes", size);
    if (me == 0) {
      announce_init(0, (MPI_Aint)size, 1, &one, kTag, &ann);
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, size, key_of(1, 0, size), 1);
      MPI_Request_free(&ann);
    } else {
      MPI_Request request;
      MPI_Datatype type;
      /* For a type of bytes alone, Open MPI 4.1 takes two halves beyond 2 GiB for one block of negative length. */
      MPI_Datatype unit = MPI_BYTE;
      const size_t width = size > (size_t)1 << 30 ? (size_t)1 << 20 : 1;
      const size_t units = width > 1 ? size / width : size / 2;
      if (width > 1) MPI_Type_contiguous((int)width, MPI_BYTE, &unit);
      MPI_Datatype parts[2] = {unit, MPI_BYTE};
      fill(data, size, key_of(1, 0, size));
      const int lengths[2] = {(int)units, (int)(size - units * width)};
      const MPI_Aint places[2] = {0, (MPI_Aint)(units * width)};
      MPI_Type_create_struct(2, lengths, places, parts, &type);
      if (width > 1) MPI_Type_free(&unit);
      MPI_Type_commit(&type);
      const int error =
          MPIX_Neon_put(data, 1, type, 0, kTag, 0, 1, type, MPIX_NEON_FINAL, win, &request);
      require(error == MPI_SUCCESS, "put of %zu bytes: %d", size, error);
      MPI_Type_free(&type);
      wait_for(&request);
    }
  }
  free(data);
  close_window();
}

static void t28_get(void) {
  const int size = 300000;
  open_window((size_t)size);
  if (me == 0) {
    fill(memory, (size_t)size, key_of(0, 0, 28));
    MPI_Request ann;
    announce_init(0, size, ranks - 1, others, kTag, &ann);
    pause_seconds(0.05);
    MPI_Start(&ann);
    wait_for(&ann);
    memset(memory, 0, (size_t)size);  // all ranks have read
    MPI_Request_free(&ann);
  } else {
    unsigned char* data = allocate((size_t)size);
    MPI_Request request[2];
    unsigned char few[64];
    require(MPIX_Neon_get(data, size, MPI_BYTE, 0, kTag, 0, size, MPI_BYTE, MPIX_NEON_NON_FINAL,
                          win, &request[0]) == MPI_SUCCESS,
            "get");
    // Every second of 16 words, to every third place.
    MPI_Datatype from;
    MPI_Datatype to;
    uint64_t words[24];
    memset(words, 0, sizeof words);
    MPI_Type_vector(8, 1, 2, MPI_UINT64_T, &from);
    MPI_Type_vector(8, 1, 3, MPI_UINT64_T, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    require(MPIX_Neon_get(words, 1, to, 0, kTag, 64, 1, from, MPIX_NEON_NON_FINAL, win,
                          &request[1]) == MPI_SUCCESS,
            "get");
    MPIX_Neon_notify(0, kTag, win);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    verify(data, (size_t)size, key_of(0, 0, 28), 0);
    for (size_t i = 0; i < 24; ++i)
      require(words[i] == (i % 3 == 0 && i < 24 ? word_at(key_of(0, 0, 28), 8 + i / 3 * 2) : 0),
              "word %zu", i);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    (void)few;
    free(data);
  }
  close_window();
}

static void datatypes(void) {
  // A column of a matrix into a row's every second place.
  enum { kRows = 50 };
  open_window(8 * 2 * kRows + 8);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 8 * 2 * kRows, 1, &one, kTag, &ann);
    dawdle();
    MPI_Start(&ann);
    wait_for(&ann);
    for (size_t i = 0; i < 2 * kRows; ++i) {
      double value;
      memcpy(&value, memory + 8 * i, 8);
      require(value == (i % 2 == 1 ? (double)(i / 2) : 0.0), "place %zu: %g", i, value);
    }
    MPI_Request_free(&ann);
  } else if (me == 1) {
    double matrix[kRows][3];
    for (int i = 0; i < kRows; ++i) matrix[i][1] = i;
    MPI_Datatype column;
    MPI_Datatype places;
    MPI_Type_vector(kRows, 1, 3, MPI_DOUBLE, &column);
    MPI_Type_vector(kRows, 1, 2, MPI_DOUBLE, &places);
    MPI_Type_commit(&column);
    MPI_Type_commit(&places);
    MPI_Request request;
    require(MPIX_Neon_put(&matrix[0][1], 1, column, 0, kTag, 8, 1, places, MPIX_NEON_FINAL, win,
                          &request) == MPI_SUCCESS,
            "put");
    wait_for(&request);
    MPI_Type_free(&column);
    MPI_Type_free(&places);
  }
  close_window();
}
