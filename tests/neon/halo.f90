! All calls of the Fortran module: a ring that exchanges halos with announcements, then with counters.
program halo
  use mpi
  use mpix_neon
  use iso_c_binding
  implicit none
  integer, parameter :: n = 500, rounds = 200
  integer :: ierror, me, ranks, left, right, win, ann, put, round, level, count, get, i
  integer :: who(2)
  integer(MPI_ADDRESS_KIND) :: bytes
  integer(c_int64_t) :: value
  type(c_ptr) :: base
  double precision, pointer :: cells(:)
  double precision :: row(n), copy(n)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  bytes = 8 * n
  call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
  call c_f_pointer(base, cells, [n])
  call MPIX_Neon_attach(win, ierror)
  if (ierror /= MPI_SUCCESS) call fail('attach')
  call MPIX_Neon_query(win, level, ierror)
  if (level < MPIX_NEON_EMULATED) call fail('query')

  call MPIX_Neon_announce_init(0_MPI_ADDRESS_KIND, bytes, 1, [left], 7, 0, win, ann, ierror)
  if (ierror /= MPI_SUCCESS) call fail('announce_init')
  do round = 1, rounds
    call MPI_Start(ann, ierror)
    row = me * 1000.0d0 + round
    call MPIX_Neon_put(row, n / 2, MPI_DOUBLE_PRECISION, right, 7, 0_MPI_ADDRESS_KIND, n / 2, &
                       MPI_DOUBLE_PRECISION, MPIX_NEON_NON_FINAL, win, put, ierror)
    call MPI_Wait(put, MPI_STATUS_IGNORE, ierror)
    call MPIX_Neon_put(row(n / 2 + 1), n - n / 2, MPI_DOUBLE_PRECISION, right, 7, &
                       int(8 * (n / 2), MPI_ADDRESS_KIND), n - n / 2, MPI_DOUBLE_PRECISION, &
                       MPIX_NEON_FINAL, win, put, ierror)
    call MPI_Wait(ann, MPI_STATUS_IGNORE, ierror)
    call MPIX_Neon_arrived(ann, count, who, ierror)
    if (count /= 1 .or. who(1) /= left) call fail('arrived')
    if (any(cells /= left * 1000.0d0 + round)) call fail('cells')
    call MPI_Wait(put, MPI_STATUS_IGNORE, ierror)
  end do
  ! A get, with the notification apart.
  cells = me
  call MPI_Start(ann, ierror)
  call MPIX_Neon_get(copy, n, MPI_DOUBLE_PRECISION, right, 7, 0_MPI_ADDRESS_KIND, n, &
                     MPI_DOUBLE_PRECISION, MPIX_NEON_NON_FINAL, win, get, ierror)
  call MPIX_Neon_notify(right, 7, win, ierror)
  call MPI_Wait(get, MPI_STATUS_IGNORE, ierror)
  if (any(copy /= right)) call fail('get')
  call MPI_Wait(ann, MPI_STATUS_IGNORE, ierror)
  call MPIX_Neon_complete(MPIX_NEON_ALL, win, ierror)
  call MPI_Request_free(ann, ierror)

  call MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2, ierror)
  if (ierror /= MPI_SUCCESS) call fail('set_num_notify')
  row = me
  call MPIX_Put_notify(row, n, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, n, &
                       MPI_DOUBLE_PRECISION, 1, win, ierror)
  call MPIX_Win_wait_notify(win, 1, 1_c_int64_t, ierror)
  if (any(cells /= left)) call fail('put_notify')
  call MPIX_Win_waitsome_notify(win, 0, 2, i, ierror)
  call MPIX_Win_get_notify_value(win, 1, value, ierror)
  if (i /= 1 .or. value /= 1) call fail('value')
  call MPIX_Win_reset_notify_value(win, 1, value, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPIX_Get_notify(copy, n, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, n, &
                       MPI_DOUBLE_PRECISION, 0, win, ierror)
  if (any(copy /= me)) call fail('get_notify')
  call MPIX_Win_wait_notify(win, 0, 1_c_int64_t, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call requests
  call accumulates
  call own_counter
  call absolute
  call MPI_Win_free(win, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (me == 0) print '(a)', 'ok'
  call MPI_Finalize(ierror)

contains
  ! As put_notify and get_notify, but each with a request. Counters 0 and 1 are at 1 and 0 before.
  subroutine requests
    row = me + 0.5d0
    call MPIX_Rput_notify(row, n, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, n, &
                          MPI_DOUBLE_PRECISION, 1, win, put, ierror)
    if (ierror /= MPI_SUCCESS) call fail('rput_notify')
    call MPI_Wait(put, MPI_STATUS_IGNORE, ierror)
    call await(1, 1_c_int64_t)
    if (any(cells /= left + 0.5d0)) call fail('rput_notify: cells')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPIX_Rget_notify(copy, n, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, n, &
                          MPI_DOUBLE_PRECISION, 0, win, get, ierror)
    if (ierror /= MPI_SUCCESS) call fail('rget_notify')
    call MPI_Wait(get, MPI_STATUS_IGNORE, ierror)
    if (any(copy /= me + 0.5d0)) call fail('rget_notify: copy')
    call await(0, 2_c_int64_t)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine

  ! Each rank adds to the cells of its right neighbour, then fetches them and adds once more.
  subroutine accumulates
    cells = me
    row = 1.0d0
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPIX_Accumulate_notify(row, n, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, n, &
                                MPI_DOUBLE_PRECISION, MPI_SUM, 1, win, ierror)
    if (ierror /= MPI_SUCCESS) call fail('accumulate_notify')
    call await(1, 2_c_int64_t)
    call MPIX_Get_accumulate_notify(row, n, MPI_DOUBLE_PRECISION, copy, n, MPI_DOUBLE_PRECISION, &
                                    right, 0_MPI_ADDRESS_KIND, n, MPI_DOUBLE_PRECISION, MPI_SUM, &
                                    0, win, ierror)
    if (ierror /= MPI_SUCCESS) call fail('get_accumulate_notify')
    if (any(copy /= right + 1.0d0)) call fail('get_accumulate_notify: result')
    call await(0, 3_c_int64_t)
    call MPI_Win_sync(win, ierror)
    if (any(cells /= me + 2.0d0)) call fail('accumulates: cells')
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine

  subroutine own_counter
    logical :: flag
    call MPIX_Win_get_num_notify(win, count, ierror)
    if (ierror /= MPI_SUCCESS .or. count /= 2) call fail('get_num_notify')
    call MPIX_Win_set_notify_value(win, 1, 41_c_int64_t, ierror)
    if (ierror /= MPI_SUCCESS) call fail('set_notify_value')
    call MPIX_Win_get_notify_value(win, 1, value, ierror)
    if (value /= 41) call fail('set_notify_value: value')
    call MPIX_Win_test_notify(win, 1, 42_c_int64_t, flag, ierror)
    if (ierror /= MPI_SUCCESS .or. flag) call fail('test_notify: 42')
    call MPIX_Win_test_notify(win, 1, 41_c_int64_t, flag, ierror)
    if (ierror /= MPI_SUCCESS .or. .not. flag) call fail('test_notify: 41')
  end subroutine

  ! MPI_BOTTOM, with a datatype that contains the address of the buffer. Counter 0 is at 3 before.
  subroutine absolute
    double precision, volatile, save :: own(n)
    integer(MPI_ADDRESS_KIND) :: place
    integer :: datatype
    call MPI_Get_address(own, place, ierror)
    call MPI_Type_create_hindexed(1, [n], [place], MPI_DOUBLE_PRECISION, datatype, ierror)
    call MPI_Type_commit(datatype, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    own = me + 0.25d0
    call MPIX_Put_notify(MPI_BOTTOM, 1, datatype, right, 0_MPI_ADDRESS_KIND, n, &
                         MPI_DOUBLE_PRECISION, 0, win, ierror)
    if (ierror /= MPI_SUCCESS) call fail('absolute: put_notify')
    call await(0, 4_c_int64_t)
    if (any(cells /= left + 0.25d0)) call fail('absolute: cells')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    own = -1
    call MPIX_Get_notify(MPI_BOTTOM, 1, datatype, right, 0_MPI_ADDRESS_KIND, n, &
                         MPI_DOUBLE_PRECISION, 0, win, ierror)
    if (ierror /= MPI_SUCCESS) call fail('absolute: get_notify')
    if (any(own /= me + 0.25d0)) call fail('absolute: got')
    call await(0, 5_c_int64_t)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Type_free(datatype, ierror)
  end subroutine

  ! Tests the counter until it has been reached; wait_notify does the same in one call.
  subroutine await(idx, expected)
    integer, intent(in) :: idx
    integer(c_int64_t), intent(in) :: expected
    logical :: reached
    reached = .false.
    do while (.not. reached)
      call MPIX_Win_test_notify(win, idx, expected, reached, ierror)
      if (ierror /= MPI_SUCCESS) call fail('test_notify')
    end do
  end subroutine

  subroutine fail(what)
    character(*), intent(in) :: what
    print *, 'FAIL halo rank', me, what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
