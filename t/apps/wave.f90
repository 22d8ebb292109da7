! SPDX-License-Identifier: BSD-3-Clause
! Mini-application in modern Fortran, `use mpi_f08`: a wave on a ring of ranks. Output depends on the number of ranks alone.
program wave
  use mpi_f08
  implicit none
  integer, parameter :: cells = 80, steps = 25
  double precision, asynchronous :: now(0:cells + 1)
  double precision :: old(cells), next(cells), mine, all
  integer :: rank, ranks, before, after, step, i, n
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Comm) :: ring

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, ring)
  call MPI_Comm_rank(ring, rank)
  call MPI_Comm_size(ring, ranks)
  before = modulo(rank - 1, ranks)
  after = modulo(rank + 1, ranks)
  now = 0
  do i = 1, cells
    now(i) = sin(0.1d0*dble(i + rank*cells))
  end do
  old = now(1:cells)
  do step = 1, steps
    call MPI_Irecv(now(0), 1, MPI_DOUBLE_PRECISION, before, 1, ring, requests(1))
    call MPI_Irecv(now(cells + 1), 1, MPI_DOUBLE_PRECISION, after, 2, ring, requests(2))
    call MPI_Send(now(cells), 1, MPI_DOUBLE_PRECISION, after, 1, ring)
    call MPI_Send(now(1), 1, MPI_DOUBLE_PRECISION, before, 2, ring)
    call MPI_Wait(requests(1), status)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, n)
    if (n /= 1 .or. status%MPI_SOURCE /= before) call MPI_Abort(ring, 5)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    do i = 1, cells
      next(i) = 2*now(i) - old(i) + 0.3d0*(now(i - 1) - 2*now(i) + now(i + 1))
    end do
    old = now(1:cells)
    now(1:cells) = next
  end do
  mine = maxval(abs(now(1:cells)))
  call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, ring)
  if (rank == 0) print '(a,es16.8)', 'amplitude ', all
  call MPI_Comm_free(ring)
  call MPI_Finalize()
end program wave
