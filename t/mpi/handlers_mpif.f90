! SPDX-License-Identifier: BSD-3-Clause
! Test program: makes erroneous calls in Fortran, and prints how often the error handler ran.
module seen
    implicit none
    integer :: runs = 0
contains
    subroutine handler(comm, code)
        integer :: comm, code
        runs = runs + 1
        if (comm == code) runs = runs + 1000 ! never true: uses both arguments
    end subroutine
end module

program handlers_mpif
    use mpi
    use seen
    implicit none
    integer :: error, h, data(4), type, comm, request
    call MPI_Init(error)
    call MPI_Comm_create_errhandler(handler, h, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, h, error)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, h, error)
    data = 0
    call MPI_Barrier(MPI_COMM_NULL, error)
    call say('barrier')
    call MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_SELF, error)
    call say('send_type')
    call MPI_Send(data, 1, MPI_INTEGER, 0, 1, MPI_COMM_NULL, error)
    call say('send_comm')
    call MPI_Isend(data, 1, MPI_INTEGER, 77, 1, MPI_COMM_SELF, request, error)
    call say('isend_rank')
    call MPI_Bcast(data, 1, MPI_INTEGER, 12, MPI_COMM_WORLD, error)
    call say('bcast_root')
    call MPI_Comm_dup(MPI_COMM_NULL, comm, error)
    call say('dup')
    call MPI_Type_contiguous(-1, MPI_INTEGER, type, error)
    call say('contiguous')
    call MPI_Recv(data, -1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
    call say('recv_count')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Finalize(error)
contains
    subroutine say(what)
        character(*) :: what
        integer :: class, ignored
        call MPI_Error_class(error, class, ignored)
        print '(a, i8, i8)', what, class, runs
        runs = 0
    end subroutine
end program
