! SPDX-License-Identifier: BSD-3-Clause
! Test program in Fortran (mpi_f08): MPI calls of many kinds, and a log of what a tracer must have seen, as calls.c.
program calls
   use mpi_f08
   implicit none
   integer :: ierr, me, n, right, left, i, level, position
   type(MPI_Comm) :: comm
   type(MPI_Request) :: r(3)
   type(MPI_Status) :: status, statuses(3)
   type(MPI_Datatype) :: newtype
   type(MPI_Info) :: key
   logical :: flag
   double precision :: data(64), room(64), t
   integer :: a(64), b(64)
   character(len=256) :: path
   character(len=MPI_MAX_PROCESSOR_NAME) :: host
   integer(kind=MPI_ADDRESS_KIND) :: extent, low

   call MPI_INIT_THREAD(MPI_THREAD_MULTIPLE, level, ierr)
   call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
   call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
   call get_environment_variable('CALLS_LOG', path)
   write (path, '(a,a,i0)') trim(path), '.', me
   open (unit=10, file=trim(path), action='write')
   call enter('MPI_Init_thread', '- - 0')
   call enter('MPI_Comm_rank', '- - 0')
   call enter('MPI_Comm_size', '- - 0')
   right = mod(me + 1, n)
   left = mod(me + n - 1, n)
   data = 1
   a = me
   call enter('MPI_Get_processor_name', '- - 0')
   call MPI_GET_PROCESSOR_NAME(host, i, ierr)
   if (mod(me, 2) == 0) then
      call peers('MPI_Send', right, 5, 80)
      call MPI_SEND(data, 10, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD) ! no ierror
      call peers('MPI_Recv', left, 6, 512)
      call MPI_RECV(room, 64, MPI_DOUBLE_PRECISION, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call done(left, 6, 24)
   else
      call peers('MPI_Recv', -1, -1, 512)
      call MPI_RECV(room, 64, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      call done(left, 5, 80)
      if (status%MPI_SOURCE /= left) call MPI_ABORT(MPI_COMM_WORLD, 9, ierr)
      call peers('MPI_Ssend', right, 6, 24)
      call MPI_SSEND(a, 6, MPI_INTEGER, right, 6, MPI_COMM_WORLD, ierr)
   end if
   do i = 1, 3
      call peers('MPI_Irecv', left, 20 + i, 80)
      call MPI_IRECV(room(10*i), 10, MPI_DOUBLE_PRECISION, left, 20 + i, MPI_COMM_WORLD, r(i), ierr)
   end do
   do i = 1, 3
      call peers('MPI_Send', right, 20 + i, 8*i)
      call MPI_SEND(data, i, MPI_DOUBLE_PRECISION, right, 20 + i, MPI_COMM_WORLD, ierr)
   end do
   call enter('MPI_Waitall', '- - 0')
   call MPI_WAITALL(3, r, MPI_STATUSES_IGNORE, ierr)
   do i = 1, 3
      call done(left, 20 + i, 8*i)
   end do
   call peers('MPI_Irecv', left, 30, 80)
   call MPI_IRECV(room, 10, MPI_DOUBLE_PRECISION, left, 30, MPI_COMM_WORLD, r(2), ierr)
   call peers('MPI_Send', right, 30, 16)
   call MPI_SEND(data, 2, MPI_DOUBLE_PRECISION, right, 30, MPI_COMM_WORLD, ierr)
   call enter('MPI_Waitany', '- - 0')
   call MPI_WAITANY(3, r, position, MPI_STATUS_IGNORE, ierr)
   call done(left, 30, 16)
   ! MPICH 4.0 counts from 0 here, untraced as well
   if (position < 1 .or. position > 2) &
      call MPI_ABORT(MPI_COMM_WORLD, 8, ierr)
   call peers('MPI_Irecv', left, 31, 80)
   call MPI_IRECV(room, 10, MPI_DOUBLE_PRECISION, left, 31, MPI_COMM_WORLD, r(1), ierr)
   call peers('MPI_Send', right, 31, 24)
   call MPI_SEND(data, 3, MPI_DOUBLE_PRECISION, right, 31, MPI_COMM_WORLD, ierr)
   flag = .false.
   do while (.not. flag)
      call enter('MPI_Testall', '- - 0')
      call MPI_TESTALL(1, r, flag, statuses, ierr)
   end do
   call done(left, 31, 24)
   call MPI_PCONTROL(4)
   call enter('MPI_Type_vector', '- - 0')
   call MPI_TYPE_VECTOR(4, 2, 8, MPI_DOUBLE_PRECISION, newtype, ierr)
   call enter('MPI_Type_commit', '- - 0')
   call MPI_TYPE_COMMIT(newtype, ierr)
   call enter('MPI_Type_get_extent', '- - 0')
   call MPI_TYPE_GET_EXTENT(newtype, low, extent, ierr)
   call peers('MPI_Sendrecv', right, 50, 64)
   call MPI_SENDRECV(data, 1, newtype, right, 50, room, 1, newtype, left, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
   call done(left, 50, 64)
   call enter('MPI_Type_free', '- - 0')
   call MPI_TYPE_FREE(newtype, ierr)
   call enter('MPI_Bcast', '1 - 32')
   call MPI_BCAST(a, 8, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
   call enter('MPI_Allreduce', '- - 20')
   call MPI_ALLREDUCE(MPI_IN_PLACE, b, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   call enter('MPI_Allgather', '- - 16')
   call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
   call enter('MPI_Comm_dup', '- - 0')
   call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
   call enter('MPI_Barrier', '- - 0')
   call MPI_BARRIER(comm)
   call enter('MPI_Comm_set_name', '- - 0')
   call MPI_COMM_SET_NAME(comm, 'a name', ierr)
   call enter('MPI_Comm_get_name', '- - 0')
   call MPI_COMM_GET_NAME(comm, host, i, ierr)
   if (host(1:i) /= 'a name') call MPI_ABORT(MPI_COMM_WORLD, 7, ierr)
   call enter('MPI_Comm_free', '- - 0')
   call MPI_COMM_FREE(comm, ierr)
   call enter('MPI_Info_create', '- - 0')
   call MPI_INFO_CREATE(key, ierr)
   call enter('MPI_Info_set', '- - 0')
   call MPI_INFO_SET(key, 'colour', 'green', ierr)
   call enter('MPI_Info_get', '- - 0')
   call MPI_INFO_GET(key, 'colour', 5, host, flag, ierr)
   if (.not. flag .or. host(1:5) /= 'green') call MPI_ABORT(MPI_COMM_WORLD, 6, ierr)
   call enter('MPI_Info_free', '- - 0')
   call MPI_INFO_FREE(key, ierr)
   call enter('MPI_Wtime', '- - 0')
   t = MPI_WTIME()
   if (t < 0) call MPI_ABORT(MPI_COMM_WORLD, 5, ierr)
   call enter('MPI_Finalize', '- - 0')
   call MPI_FINALIZE(ierr)
   close (10)
   print '(a)', 'done'
contains
   subroutine enter(name, rest)
      character(len=*), intent(in) :: name, rest
      write (10, '(4a)') 'E ', name, ' ', rest
   end subroutine enter
   subroutine peers(name, peer, tag, bytes)
      character(len=*), intent(in) :: name
      integer, intent(in) :: peer, tag, bytes
      write (10, '(3a,i0,a,i0,a,i0)') 'E ', name, ' ', peer, ' ', tag, ' ', bytes
   end subroutine peers
   subroutine done(source, tag, bytes)
      integer, intent(in) :: source, tag, bytes
      write (10, '(a,i0,a,i0,a,i0)') 'C ', source, ' ', tag, ' ', bytes
   end subroutine done
end program calls
