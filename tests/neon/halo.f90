! The calls of the Fortran module: a ring that exchanges halos with announcements, then with counters.
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
  call MPI_Win_free(win, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (me == 0) print '(a)', 'ok'
  call MPI_Finalize(ierror)

contains
  subroutine fail(what)
    character(*), intent(in) :: what
    print *, 'FAIL halo rank', me, what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
