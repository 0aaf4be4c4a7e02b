! NEON for Fortran programs: the calls of mpix_neon.h, with the same names, arguments and meaning, and an error code
! at the end. Works with `use mpi`; requests and windows are its integer handles. Counters have 64 bits, signed.
!
!   use mpi
!   use mpix_neon
!   call MPIX_Neon_attach(win, ierror)
!   call MPIX_Neon_announce_init(0_MPI_ADDRESS_KIND, nbytes, 1, [left], 7, 0, win, halo, ierror)
!   call MPI_Start(halo, ierror)
!   call MPIX_Neon_put(row, n, MPI_REAL, right, 7, 0_MPI_ADDRESS_KIND, n, MPI_REAL, &
!                      MPIX_NEON_FINAL, win, request, ierror)
!   call MPI_Wait(halo, MPI_STATUS_IGNORE, ierror)
!
! Buffers are passed by address and must stay where they are until the request is complete
! (asynchronous, as for MPI_Isend).
module mpix_neon
  use mpi, only: MPI_ADDRESS_KIND
  use iso_c_binding, only: c_int64_t
  implicit none
  private :: MPI_ADDRESS_KIND, c_int64_t

  integer, parameter :: MPIX_NEON_ABSENT = 0, MPIX_NEON_EMULATED = 1
  integer, parameter :: MPIX_NEON_NATIVE = 2, MPIX_NEON_ASYNC = 3
  integer, parameter :: MPIX_NEON_FINAL = 0, MPIX_NEON_NON_FINAL = 1
  integer, parameter :: MPIX_NEON_STRONG = 2, MPIX_NEON_PERSISTENT = 4
  integer, parameter :: MPIX_NEON_ALL = -1

  interface
    subroutine MPIX_Neon_attach(win, ierror) bind(C, name='lfc_f_neon_attach')
      integer, intent(in) :: win
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Neon_query(win, level, ierror) bind(C, name='lfc_f_neon_query')
      integer, intent(in) :: win
      integer, intent(out) :: level, ierror
    end subroutine
    subroutine MPIX_Neon_announce_init(disp, size, nranks, ranks, tag, flags, win, ann, ierror) &
        bind(C, name='lfc_f_neon_announce_init')
      import :: MPI_ADDRESS_KIND
      integer(MPI_ADDRESS_KIND), intent(in) :: disp, size
      integer, intent(in) :: nranks, ranks(*), tag, flags, win
      integer, intent(out) :: ann, ierror
    end subroutine
    ! `ranks` has room for all ranks of the announcement.
    subroutine MPIX_Neon_arrived(ann, count, ranks, ierror) bind(C, name='lfc_f_neon_arrived')
      integer, intent(in) :: ann
      integer, intent(out) :: count, ierror
      integer, intent(inout) :: ranks(*)
    end subroutine
    subroutine MPIX_Neon_put(origin, count, datatype, target, tag, offset, target_count, &
                             target_datatype, flags, win, request, ierror) &
        bind(C, name='lfc_f_neon_put')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), intent(in), asynchronous :: origin
      integer, intent(in) :: count, datatype, target, tag, target_count, target_datatype, flags, win
      integer(MPI_ADDRESS_KIND), intent(in) :: offset
      integer, intent(out) :: request, ierror
    end subroutine
    subroutine MPIX_Neon_notify(target, tag, win, ierror) bind(C, name='lfc_f_neon_notify')
      integer, intent(in) :: target, tag, win
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Neon_get(origin, count, datatype, target, tag, offset, target_count, &
                             target_datatype, flags, win, request, ierror) &
        bind(C, name='lfc_f_neon_get')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), asynchronous :: origin
      integer, intent(in) :: count, datatype, target, tag, target_count, target_datatype, flags, win
      integer(MPI_ADDRESS_KIND), intent(in) :: offset
      integer, intent(out) :: request, ierror
    end subroutine
    subroutine MPIX_Neon_complete(target, win, ierror) bind(C, name='lfc_f_neon_complete')
      integer, intent(in) :: target, win
      integer, intent(out) :: ierror
    end subroutine

    subroutine MPIX_Win_set_num_notify(win, info, count, ierror) &
        bind(C, name='lfc_f_set_num_notify')
      integer, intent(in) :: win, info, count
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_get_num_notify(win, count, ierror) bind(C, name='lfc_f_get_num_notify')
      integer, intent(in) :: win
      integer, intent(out) :: count, ierror
    end subroutine
    subroutine MPIX_Put_notify(origin, count, datatype, target, disp, target_count, &
                               target_datatype, idx, win, ierror) bind(C, name='lfc_f_put_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), intent(in) :: origin
      integer, intent(in) :: count, datatype, target, target_count, target_datatype, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Get_notify(origin, count, datatype, target, disp, target_count, &
                               target_datatype, idx, win, ierror) bind(C, name='lfc_f_get_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*) :: origin
      integer, intent(in) :: count, datatype, target, target_count, target_datatype, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Accumulate_notify(origin, count, datatype, target, disp, target_count, &
                                      target_datatype, op, idx, win, ierror) &
        bind(C, name='lfc_f_accumulate_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), intent(in) :: origin
      integer, intent(in) :: count, datatype, target, target_count, target_datatype, op, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Get_accumulate_notify(origin, count, datatype, result, result_count, &
                                          result_datatype, target, disp, target_count, &
                                          target_datatype, op, idx, win, ierror) &
        bind(C, name='lfc_f_get_accumulate_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin, result
      type(*), dimension(*), intent(in) :: origin
      type(*), dimension(*) :: result
      integer, intent(in) :: count, datatype, result_count, result_datatype, target, target_count
      integer, intent(in) :: target_datatype, op, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Rput_notify(origin, count, datatype, target, disp, target_count, &
                                target_datatype, idx, win, request, ierror) &
        bind(C, name='lfc_f_rput_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), intent(in), asynchronous :: origin
      integer, intent(in) :: count, datatype, target, target_count, target_datatype, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: request, ierror
    end subroutine
    subroutine MPIX_Rget_notify(origin, count, datatype, target, disp, target_count, &
                                target_datatype, idx, win, request, ierror) &
        bind(C, name='lfc_f_rget_notify')
      import :: MPI_ADDRESS_KIND
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
      type(*), dimension(*), asynchronous :: origin
      integer, intent(in) :: count, datatype, target, target_count, target_datatype, idx, win
      integer(MPI_ADDRESS_KIND), intent(in) :: disp
      integer, intent(out) :: request, ierror
    end subroutine
    subroutine MPIX_Win_get_notify_value(win, idx, value, ierror) &
        bind(C, name='lfc_f_get_notify_value')
      import :: c_int64_t
      integer, intent(in) :: win, idx
      integer(c_int64_t), intent(out) :: value
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_reset_notify_value(win, idx, value, ierror) &
        bind(C, name='lfc_f_reset_notify_value')
      import :: c_int64_t
      integer, intent(in) :: win, idx
      integer(c_int64_t), intent(out) :: value
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_set_notify_value(win, idx, value, ierror) &
        bind(C, name='lfc_f_set_notify_value')
      import :: c_int64_t
      integer, intent(in) :: win, idx
      integer(c_int64_t), intent(in) :: value
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_test_notify(win, idx, expected, flag, ierror) &
        bind(C, name='lfc_f_test_notify')
      import :: c_int64_t
      integer, intent(in) :: win, idx
      integer(c_int64_t), intent(in) :: expected
      logical, intent(out) :: flag
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_wait_notify(win, idx, expected, ierror) bind(C, name='lfc_f_wait_notify')
      import :: c_int64_t
      integer, intent(in) :: win, idx
      integer(c_int64_t), intent(in) :: expected
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPIX_Win_waitsome_notify(win, first, count, idx, ierror) &
        bind(C, name='lfc_f_waitsome_notify')
      integer, intent(in) :: win, first, count
      integer, intent(out) :: idx, ierror
    end subroutine
  end interface
end module mpix_neon
