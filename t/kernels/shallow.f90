! SPDX-License-Identifier: BSD-3-Clause
! Shallow water on a periodic grid, as the seed's swim has it: fields in a module, columns first. SIZE: of the grid.
module shallow
    implicit none
    integer, parameter :: most = 1025
    real(8), dimension(most, most) :: u, v, p, unew, vnew, pnew, uold, vold, pold, cu, cv, z, h
    real(8), parameter :: dx = 1d5, dy = 1d5, dt = 90, alpha = .001d0
contains
    subroutine begin(m, n)
        integer, intent(in) :: m, n
        real(8), parameter :: pi = 3.14159265358979d0
        integer :: i, j
        do j = 1, n + 1
            do i = 1, m + 1
                u(i, j) = 20 * sin(2 * pi * (i - 1) / m + .5d0) * cos(2 * pi * (j - 1) / n)
                v(i, j) = -20 * cos(2 * pi * (i - 1) / m) * sin(2 * pi * (j - 1) / n + .5d0)
                p(i, j) = 2500 * (cos(4 * pi * (i - 1) / m) + cos(4 * pi * (j - 1) / n)) + 50000
            end do
        end do
        uold = u; vold = v; pold = p
    end subroutine

    subroutine calc1(m, n)
        integer, intent(in) :: m, n
        real(8) :: fsdx, fsdy
        integer :: i, j
        fsdx = 4 / dx
        fsdy = 4 / dy
        do j = 1, n
            do i = 1, m
                cu(i + 1, j) = .5d0 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
                cv(i, j + 1) = .5d0 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
                z(i + 1, j + 1) = (fsdx * (v(i + 1, j + 1) - v(i, j + 1)) - fsdy * (u(i + 1, j + 1) - u(i + 1, j))) &
                    / (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
                h(i, j) = p(i, j) + .25d0 * (u(i + 1, j) * u(i + 1, j) + u(i, j) * u(i, j) &
                    + v(i, j + 1) * v(i, j + 1) + v(i, j) * v(i, j))
            end do
        end do
        do j = 1, n
            cu(1, j) = cu(m + 1, j)
            cv(m + 1, j + 1) = cv(1, j + 1)
            z(1, j + 1) = z(m + 1, j + 1)
            h(m + 1, j) = h(1, j)
        end do
        do i = 1, m
            cu(i + 1, n + 1) = cu(i + 1, 1)
            cv(i, 1) = cv(i, n + 1)
            z(i + 1, 1) = z(i + 1, n + 1)
            h(i, n + 1) = h(i, 1)
        end do
        cu(1, n + 1) = cu(m + 1, 1)
        cv(m + 1, 1) = cv(1, n + 1)
        z(1, 1) = z(m + 1, n + 1)
        h(m + 1, n + 1) = h(1, 1)
    end subroutine

    subroutine calc2(m, n, tdt)
        integer, intent(in) :: m, n
        real(8), intent(in) :: tdt
        real(8) :: tdts8, tdtsdx, tdtsdy
        integer :: i, j
        tdts8 = tdt / 8
        tdtsdx = tdt / dx
        tdtsdy = tdt / dy
        do j = 1, n
            do i = 1, m
                unew(i + 1, j) = uold(i + 1, j) + tdts8 * (z(i + 1, j + 1) + z(i + 1, j)) &
                    * (cv(i + 1, j + 1) + cv(i, j + 1) + cv(i, j) + cv(i + 1, j)) - tdtsdx * (h(i + 1, j) - h(i, j))
                vnew(i, j + 1) = vold(i, j + 1) - tdts8 * (z(i + 1, j + 1) + z(i, j + 1)) &
                    * (cu(i + 1, j + 1) + cu(i, j + 1) + cu(i, j) + cu(i + 1, j)) - tdtsdy * (h(i, j + 1) - h(i, j))
                pnew(i, j) = pold(i, j) - tdtsdx * (cu(i + 1, j) - cu(i, j)) - tdtsdy * (cv(i, j + 1) - cv(i, j))
            end do
        end do
        do j = 1, n
            unew(1, j) = unew(m + 1, j)
            vnew(m + 1, j + 1) = vnew(1, j + 1)
            pnew(m + 1, j) = pnew(1, j)
        end do
        do i = 1, m
            unew(i + 1, n + 1) = unew(i + 1, 1)
            vnew(i, 1) = vnew(i, n + 1)
            pnew(i, n + 1) = pnew(i, 1)
        end do
        unew(1, n + 1) = unew(m + 1, 1)
        vnew(m + 1, 1) = vnew(1, n + 1)
        pnew(m + 1, n + 1) = pnew(1, 1)
    end subroutine

    subroutine calc3(m, n)
        integer, intent(in) :: m, n
        integer :: i, j
        do j = 1, n
            do i = 1, m
                uold(i, j) = u(i, j) + alpha * (unew(i, j) - 2 * u(i, j) + uold(i, j))
                vold(i, j) = v(i, j) + alpha * (vnew(i, j) - 2 * v(i, j) + vold(i, j))
                pold(i, j) = p(i, j) + alpha * (pnew(i, j) - 2 * p(i, j) + pold(i, j))
                u(i, j) = unew(i, j)
                v(i, j) = vnew(i, j)
                p(i, j) = pnew(i, j)
            end do
        end do
        u(m + 1, 1:n) = u(1, 1:n)
        v(1:m, n + 1) = v(1:m, 1)
        p(m + 1, :n + 1) = p(1, :n + 1)
    end subroutine
end module

program kernel
    use shallow
    use window
    implicit none
    integer :: n, turns, turn, i
    real(8) :: began, check
    n = argument(1, 300, most - 1)
    turns = argument(2, 40, 1000000)
    call begin(n, n)
    call calc1(n, n)
    began = kernel_now_ns()
    call open_window()
    do turn = 1, turns
        call calc1(n, n)
        call calc2(n, n, merge(dt, 2 * dt, turn == 1))
        call calc3(n, n)
    end do
    call close_window()
    check = 0
    do i = 1, n
        check = check + pold(i, i) + u(1, i)
    end do
    call kernel_end(began, check)
end program
