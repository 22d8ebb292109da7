! SPDX-License-Identifier: BSD-3-Clause
! Test program: persistent collective operations of Open MPI's extension, through the entry points
! of mpif.h.
program extensions_mpif
    use mpi
    implicit none
    external :: MPIX_Barrier_init, MPIX_Allreduce_init
    integer :: error, r, i, given(2), got(2)
    call MPI_Init(error)
    call MPIX_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, r, error)
    call MPI_Start(r, error)
    call MPI_Wait(r, MPI_STATUS_IGNORE, error)
    call MPI_Request_free(r, error)
    call MPIX_Allreduce_init(given, got, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r, error)
    do i = 1, 2
        given = i
        call MPI_Start(r, error)
        call MPI_Wait(r, MPI_STATUS_IGNORE, error)
        print '(3i4)', error, got
    end do
    call MPI_Request_free(r, error)
    call MPI_Finalize(error)
end program
