! SPDX-License-Identifier: BSD-3-Clause
! Quarks on a lattice, as the seed's wupwise treats them: each site gets its neighbours' spinors, multiplied by the SU(3) matrices of the links
! between; then a step of a solver. SIZE: of the lattice's four sides.
module su3
    implicit none
    integer, parameter :: most = 16
    complex(8), allocatable :: links(:, :, :, :), field(:, :, :), result(:, :, :)
    integer, allocatable :: up(:, :), down(:, :)
contains
    subroutine multiply(m, x, y)
        complex(8), intent(in) :: m(3, 3), x(3)
        complex(8), intent(inout) :: y(3)
        integer :: i, j
        do i = 1, 3
            do j = 1, 3
                y(i) = y(i) + m(i, j) * x(j)
            end do
        end do
    end subroutine

    subroutine multiply_adjoint(m, x, y)
        complex(8), intent(in) :: m(3, 3), x(3)
        complex(8), intent(inout) :: y(3)
        integer :: i, j
        do i = 1, 3
            do j = 1, 3
                y(i) = y(i) + conjg(m(j, i)) * x(j)
            end do
        end do
    end subroutine

    subroutine hop(sites)
        integer, intent(in) :: sites
        integer :: site, direction, spin
        do site = 1, sites
            result(:, :, site) = 0
            do direction = 1, 4
                do spin = 1, 4
                    call multiply(links(:, :, direction, site), field(:, spin, up(direction, site)), result(:, spin, site))
                    call multiply_adjoint(links(:, :, direction, down(direction, site)), field(:, spin, down(direction, site)), &
                        result(:, spin, site))
                end do
            end do
        end do
    end subroutine

    real(8) function square(a, n)
        integer, intent(in) :: n
        complex(8), intent(in) :: a(n)
        integer :: i
        square = 0
        do i = 1, n
            square = square + real(a(i) * conjg(a(i)), 8)
        end do
    end function

    subroutine add(n, factor, x, y)
        integer, intent(in) :: n
        real(8), intent(in) :: factor
        complex(8), intent(in) :: x(n)
        complex(8), intent(inout) :: y(n)
        y = factor * (y + .125d0 * x)
    end subroutine

    subroutine begin(side, sites)
        integer, intent(in) :: side, sites
        integer :: site, direction, at(4), next(4), k, i, j
        allocate (links(3, 3, 4, sites), field(3, 4, sites), result(3, 4, sites), up(4, sites), down(4, sites))
        do site = 1, sites
            k = site - 1
            do direction = 1, 4
                at(direction) = mod(k, side)
                k = k / side
            end do
            do direction = 1, 4
                next = at
                next(direction) = mod(at(direction) + 1, side)
                up(direction, site) = 1 + next(1) + side * (next(2) + side * (next(3) + side * next(4)))
                next(direction) = mod(at(direction) + side - 1, side)
                down(direction, site) = 1 + next(1) + side * (next(2) + side * (next(3) + side * next(4)))
                do i = 1, 3
                    do j = 1, 3
                        links(j, i, direction, site) = cmplx(mod(site * i + j, 7) - 3, mod(site + i * j, 5) - 2, 8) / 10
                    end do
                end do
                field(:, direction, site) = cmplx(mod(site, 3), direction, 8)
            end do
        end do
        result = 0
    end subroutine
end module

program kernel
    use su3
    use window
    implicit none
    integer :: side, sites, turns, turn
    real(8) :: began, check
    side = argument(1, 8, most)
    turns = argument(2, 12, 1000000)
    sites = side**4
    call begin(side, sites)
    began = kernel_now_ns()
    call open_window()
    do turn = 1, turns
        call hop(sites)
        call add(12 * sites, 1 / sqrt(square(result, 12 * sites)), result, field)
    end do
    call close_window()
    check = square(field, 12 * sites)
    call kernel_end(began, check)
end program
