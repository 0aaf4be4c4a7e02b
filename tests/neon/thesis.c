// The cellular automaton of the thesis (Listing B.3) with the thesis' own names, against a run of all rows on one
// rank. Then the rest of 5.2: NON_FINAL, STRONG, Get, Test, Unpost, and errors.
#include "check.h"

#include <neon.h>

enum { kColumns = 128, kLines = 12, kRounds = 60, kUp = 1, kDown = 2 };

// Rows 1 ... kLines are ours; 0 and kLines + 1 are the neighbours'.
typedef unsigned char grid[kLines + 2][kColumns];

static int cell(unsigned char (*rows)[kColumns], int row, int column) {
  return rows[row][(column + kColumns) % kColumns];
}

static void simulate(unsigned char (*from)[kColumns], unsigned char (*to)[kColumns], int first,
                     int last) {
  for (int row = first; row <= last; ++row)
    for (int column = 0; column < kColumns; ++column) {
      int around = 0;
      for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
          if (i != 0 || j != 0) around += cell(from, row + i, column + j);
      to[row][column] = around == 3 || (around == 2 && from[row][column]);
    }
}

static void automaton(void) {
  static grid cells[2];
  const int previous = (me + ranks - 1) % ranks;
  const int next = (me + 1) % ranks;
  const int all_rows = ranks * kLines;
  unsigned char(*whole[2])[kColumns];
  for (int i = 0; i < 2; ++i) whole[i] = allocate((size_t)(all_rows + 2) * kColumns);
  uint64_t random = seed;
  for (int row = 1; row <= all_rows; ++row)
    for (int column = 0; column < kColumns; ++column)
      whole[0][row][column] = random_below(&random, 3) == 0;
  memcpy(cells[0][1], whole[0][1 + me * kLines], kLines * kColumns);
  memcpy(whole[0][0], whole[0][all_rows], kColumns);
  memcpy(whole[0][all_rows + 1], whole[0][1], kColumns);
  memcpy(cells[0][0], whole[0][me * kLines], kColumns);
  memcpy(cells[0][kLines + 1], whole[0][(me + 1) * kLines + 1], kColumns);

  neon_memhandle memory = NEON_Register(cells, sizeof cells, 0);
  require(memory != NULL, "register");
  neon_status status;
  neon_handle above[2];
  neon_handle below[2];
  for (int round = 0; round < kRounds; ++round) {
    const int from = round % 2;
    const int to = 1 - from;
    doing("round %d", round);
    // Announce both halos of the grid that this round fills.
    if (round < 2) {
      above[to] = NEON_Post(cells[to][0], kColumns, 1, &previous, 10 * to + kUp, memory, &status);
      below[to] =
          NEON_Post(cells[to][kLines + 1], kColumns, 1, &next, 10 * to + kDown, memory, &status);
      require(above[to] != NULL && below[to] != NULL, "post: %d", status);
    } else {
      require(NEON_Repost(above[to], &status) == 0 && NEON_Repost(below[to], &status) == 0,
              "repost");
    }
    // First and last row, their transmission with the notification, the rest, completion.
    simulate(cells[from], cells[to], 1, 1);
    simulate(cells[from], cells[to], kLines, kLines);
    neon_handle up =
        NEON_Put(cells[to][1], kColumns, previous, 10 * to + kDown, 0, 0, memory, &status);
    neon_handle down =
        NEON_Put(cells[to][kLines], kColumns, next, 10 * to + kUp, 0, 0, memory, &status);
    require(up != NULL && down != NULL, "put: %d", status);
    simulate(cells[from], cells[to], 2, kLines - 1);
    require(NEON_Wait(above[to], 0) == 0 && NEON_Wait(below[to], 0) == 0, "wait for halos");
    require(NEON_Wait(up, 0) == 0 && NEON_Wait(down, 0) == 0, "wait for puts");

    simulate(whole[from], whole[to], 1, all_rows);
    memcpy(whole[to][0], whole[to][all_rows], kColumns);
    memcpy(whole[to][all_rows + 1], whole[to][1], kColumns);
    require(memcmp(cells[to], whole[to][me * kLines], sizeof cells[to]) == 0, "round %d differs",
            round);
  }
  for (int i = 0; i < 2; ++i) {
    require(NEON_Unpost(above[i]) == 0 && NEON_Unpost(below[i]) == 0, "unpost");
    free(whole[i]);
  }
  require(NEON_Unregister(memory) == 0, "unregister");
}

static void the_rest(void) {
  enum { kSize = 100000 };
  static unsigned char buffer[kSize];
  static unsigned char data[kSize];
  neon_memhandle memory = NEON_Register(buffer, kSize, 0);
  neon_memhandle own = NEON_Register(data, kSize, 0);
  neon_status status = 0;
  doing("the rest of 5.2");
  if (me == 0) {
    const int one = 1;
    neon_handle post = NEON_Post(buffer, kSize, 1, &one, 300, memory, &status);
    require(post != NULL && status == NEON_PENDING, "post: %d", status);
    int state;
    while ((state = NEON_Test(post, 0)) == NEON_PENDING) continue;
    require(state == NEON_COMPLETE, "test: %d", state);
    verify(buffer, kSize, key_of(1, 0, 1), 1);
    require(NEON_Test(post, 0) == NEON_COMPLETE, "a post's handle stays");
    require(NEON_Repost(post, &status) == 0, "repost");
    require(NEON_Repost(post, &status) != 0, "reposted before it is complete");
    require(NEON_Wait(post, 0) == 0, "second round");
    // A second post of the tag while the first is announced.
    require(NEON_Repost(post, &status) == 0, "repost");
    neon_handle other = NEON_Post(buffer, 8, 1, &one, 300, memory, &status);
    require(other == NULL && status < 0, "posted twice: %d", status);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    int known = 0;
    MPI_Recv(&known, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    state = NEON_Wait(post, 0);
    require(known ? state == 0 : state == -MPI_ERR_RMA_RANGE, "a put that does not fit: %d", state);
    require(NEON_Unpost(post) == 0, "unpost");
    require(NEON_Post(buffer, kSize + 1, 1, &one, 301, memory, &status) == NULL,
            "beyond the memory");
  } else if (me == 1) {
    fill(data, kSize, key_of(1, 0, 1));
    neon_handle first = NEON_Put(data, 60000, 0, 300, 0, NON_FINAL, own, &status);
    neon_handle last = NEON_Put(data + 60000, 40000, 0, 300, 60000, STRONG, own, &status);
    require(NEON_Wait(last, STRONG) == 0, "strong");
    int state;
    while ((state = NEON_Test(first, 0)) == NEON_PENDING) continue;
    require(state == NEON_COMPLETE, "first: %d", state);
    memset(data, 0, kSize);
    neon_handle get = NEON_Get(data, kSize, 0, 300, 0, 0, own, &status);
    require(NEON_Wait(get, 0) == 0, "get");
    verify(data, kSize, key_of(1, 0, 1), 0);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // A put of the third round, too long for the buffer.
    neon_handle far = NEON_Put(data, 8, 0, 300, kSize - 4, 0, own, &status);
    if (far != NULL) {
      NEON_Wait(far, 0);
    } else {  // the origin knew the size: it has to notify all the same
      require(status == -MPI_ERR_RMA_RANGE, "far: %d", status);
      NEON_Wait(NEON_Put(data, 8, 0, 300, kSize - 8, 0, own, &status), 0);
    }
    const int known = far == NULL;
    MPI_Send(&known, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  NEON_Unregister(memory);
  NEON_Unregister(own);
}

// Rank 1 is in NEON_Finalize when rank 0 withdraws a buffer whose address rank 1 knows. Rank 0 waits until rank 1
// has acknowledged that.
static void unpost_late(void) {
  const size_t size = 100000;
  unsigned char* const bytes = allocate(size);
  neon_memhandle memory = NEON_Register(bytes, size, 0);
  neon_status status = 0;
  doing("unpost, others are in NEON_Finalize");
  if (me == 0) {
    const int one = 1;
    neon_handle post = NEON_Post(bytes, size, 1, &one, 302, memory, &status);
    require(post != NULL && NEON_Wait(post, 0) == 0, "post: %d", status);
    require(NEON_Repost(post, &status) == 0, "repost");
    pause_seconds(0.1);
    require(NEON_Unpost(post) == 0, "unpost");
  } else if (me == 1) {
    NEON_Wait(NEON_Put(bytes, size, 0, 302, 0, 0, memory, &status), 0);
  }
  require(NEON_Finalize() == 0, "finalize");
  NEON_Unregister(memory);
  free(bytes);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  require(NEON_Init() == 0, "init");
  automaton();
  the_rest();
  unpost_late();
  return check_end();
}
