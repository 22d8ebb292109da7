! SPDX-License-Identifier: BSD-3-Clause
! The seed's loop, with assumed-shape arrays and a strided one: for t/isa/memory/skeleton.t.
module water
    implicit none
contains
    subroutine calc1(n, m, u, v, p, cu, cv, z, h)
        integer, intent(in) :: n, m
        real(8), intent(in) :: u(:, :), v(:, :), p(:, :)
        real(8), intent(inout) :: cu(:, :), cv(:, :), z(:, :), h(:, :)
        integer :: i, j
        do j = 1, n
            do i = 1, m
                cu(i + 1, j) = .5d0 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
                cv(i, j + 1) = .5d0 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
                z(i + 1, j + 1) = (4 * (v(i + 1, j + 1) - v(i, j + 1)) - 5 * (u(i + 1, j + 1) - u(i + 1, j))) / &
                    (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
                h(i, j) = p(i, j) + .25d0 * (u(i + 1, j) * u(i + 1, j) + u(i, j) * u(i, j))
            end do
        end do
    end subroutine
end module

program swim
    use water
    implicit none
    real(8) :: u(12, 12), v(12, 12), p(24, 24), cu(12, 12), cv(12, 12), z(12, 12), h(12, 12)
    u = 1; v = 2; p = 3; cu = 0; cv = 0; z = 0; h = 0
    call calc1(9, 10, u, v, p(::2, ::2), cu, cv, z, h)
    print *, sum(cu) + sum(cv) + sum(z) + sum(h)
end program
