! SPDX-License-Identifier: BSD-3-Clause
! MPI calls from Fortran, each logged with its line: fort.RANK holds "FUNCTION LINE" lines.
! usage: call_sites_mpif LOG
program call_sites_mpif
    implicit none
    include 'mpif.h'
    integer :: ierror, rank, n, i
    character(len=4000) :: name
    character(len=4010) :: file
    call mpi_init(ierror)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
    call get_command_argument(1, name)
    write (file, '(a,".",i0,".0")') trim(name), rank
    open (unit=10, file=file)
    call mpi_pcontrol(1, ierror)
    do i = 1, 10
        write (10, '(a,i0)') 'MPI_Comm_size ', __LINE__ + 1
        call mpi_comm_size(MPI_COMM_WORLD, n, ierror)
        call work(i)
    end do
    call mpi_pcontrol(0, ierror)
    close (10)
    call mpi_finalize(ierror)
contains
    subroutine work(k)
        integer, intent(in) :: k
        integer :: x, sum, error
        x = k
        write (10, '(a,i0)') 'MPI_Allreduce ', __LINE__ + 1
        call mpi_allreduce(x, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        write (10, '(a,i0)') 'MPI_Barrier ', __LINE__ + 1
        call mpi_barrier(MPI_COMM_WORLD, error)
    end subroutine work
end program call_sites_mpif
