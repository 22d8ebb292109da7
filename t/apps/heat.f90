! SPDX-License-Identifier: BSD-3-Clause
! Mini-application in Fortran with mpif.h: heat in a rod, halos by mpi_sendrecv, phases by mpi_pcontrol's level.
! Level 1 begins a phase, level 0 ends it. Output depends on the number of ranks alone.
program heat
  implicit none
  include 'mpif.h'
  integer, parameter :: cells = 100, phases = 3, steps = 20
  double precision :: t(0:cells + 1), next(cells), mine, all
  integer :: ierr, rank, ranks, before, after, phase, step, i
  integer :: status(MPI_STATUS_SIZE)

  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, ierr)
  before = rank - 1
  if (before < 0) before = MPI_PROC_NULL
  after = rank + 1
  if (after >= ranks) after = MPI_PROC_NULL
  t = 0
  do i = 1, cells
    t(i) = mod(rank*cells + i, 17)
  end do
  do phase = 1, phases
    call mpi_pcontrol(1)
    do step = 1, steps
      call mpi_sendrecv(t(cells), 1, MPI_DOUBLE_PRECISION, after, 1, t(0), 1, MPI_DOUBLE_PRECISION, before, 1, &
                        MPI_COMM_WORLD, status, ierr)
      call mpi_sendrecv(t(1), 1, MPI_DOUBLE_PRECISION, before, 2, t(cells + 1), 1, MPI_DOUBLE_PRECISION, after, 2, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      do i = 1, cells
        next(i) = t(i) + 0.25d0*(t(i - 1) - 2*t(i) + t(i + 1))
      end do
      t(1:cells) = next
    end do
    call mpi_pcontrol(0)
    mine = maxval(t(1:cells))
    call mpi_allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(a,i0,a,es16.9)', 'phase ', phase, ': hottest ', all
  end do
  call mpi_finalize(ierr)
end program heat
