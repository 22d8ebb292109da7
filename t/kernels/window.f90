! SPDX-License-Identifier: BSD-3-Clause
! window.c for kernels in Fortran.
module window
    use iso_c_binding
    implicit none
    interface
        subroutine open_window() bind(c)
        end subroutine
        subroutine close_window() bind(c)
        end subroutine
        real(c_double) function kernel_now_ns() bind(c)
            import
        end function
        subroutine kernel_end(began, check) bind(c)
            import
            real(c_double), value :: began, check
        end subroutine
    end interface
contains
    ! The argument of that number, from 1 to `largest`; `otherwise` where there is none.
    integer function argument(number, otherwise, largest)
        integer, intent(in) :: number, otherwise, largest
        character(len=32) :: text
        integer :: error
        call get_command_argument(number, text)
        read (text, *, iostat=error) argument
        if (error /= 0) argument = otherwise
        argument = min(max(argument, 1), largest)
    end function
end module
