! SPDX-License-Identifier: BSD-3-Clause
! Mini-application in Fortran with `use mpi`: diffusion with nonblocking halos and waitall. Output depends on ranks alone.
program diffuse
  use mpi
  implicit none
  integer, parameter :: cells = 64, steps = 30
  double precision :: c(0:cells + 1), next(cells), mine(2), all(2)
  integer :: ierr, rank, ranks, before, after, step, i
  integer :: requests(4), statuses(MPI_STATUS_SIZE, 4)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  integer :: length

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
  before = modulo(rank - 1, ranks)
  after = modulo(rank + 1, ranks)
  c = 0
  do i = 1, cells
    c(i) = mod(i*7 + rank*3, 23)
  end do
  do step = 1, steps
    call MPI_Irecv(c(0), 1, MPI_DOUBLE_PRECISION, before, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(c(cells + 1), 1, MPI_DOUBLE_PRECISION, after, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(c(cells), 1, MPI_DOUBLE_PRECISION, after, 1, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(c(1), 1, MPI_DOUBLE_PRECISION, before, 2, MPI_COMM_WORLD, requests(4), ierr)
    if (mod(step, 2) == 0) then
      call MPI_Waitall(4, requests, statuses, ierr)
    else
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    end if
    do i = 1, cells
      next(i) = c(i) + 0.2d0*(c(i - 1) - 2*c(i) + c(i + 1))
    end do
    c(1:cells) = next
  end do
  mine = [maxval(c(1:cells)), -minval(c(1:cells))]
  call MPI_Reduce(mine, all, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,a,2es17.9)', name(1:length), ' between', -all(2), all(1)
  call MPI_Finalize(ierr)
end program diffuse
