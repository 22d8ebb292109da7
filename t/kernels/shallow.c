/* SPDX-License-Identifier: BSD-3-Clause
 * Shallow water on a periodic grid (Sadourny 1975), computed as by swim in Ketterlin and Clauss,
 * "Efficient Memory Tracing by Program Skeletonization", ISPASS 2011: fluxes, a step in time, a
 * filter. SIZE: of the grid. */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 1024 };

typedef double field[MOST + 1][MOST + 1];
static field u, v, p, unew, vnew, pnew, uold, vold, pold, cu, cv, z, h;
static const double dx = 1e5, dy = 1e5, dt = 90, alpha = .001;

/* Copies the borders of a periodic grid. The three fields lie beside each other in the grid, so
 * each wraps at other borders. */
KEEP static void wrap(int m, int n, field a, field b, field c)
{
    for (int j = 0; j < n; j++) {
        a[0][j] = a[m][j];
        b[m][j + 1] = b[0][j + 1];
        c[m][j] = c[0][j];
    }
    for (int i = 0; i < m; i++) {
        a[i + 1][n] = a[i + 1][0];
        b[i][0] = b[i][n];
        c[i][n] = c[i][0];
    }
    a[0][n] = a[m][0];
    b[m][0] = b[0][n];
    c[m][n] = c[0][0];
}

KEEP static void calc1(int m, int n)
{
    double fsdx = 4 / dx, fsdy = 4 / dy;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            cu[i + 1][j] = .5 * (p[i + 1][j] + p[i][j]) * u[i + 1][j];
            cv[i][j + 1] = .5 * (p[i][j + 1] + p[i][j]) * v[i][j + 1];
            z[i + 1][j + 1] =
                (fsdx * (v[i + 1][j + 1] - v[i][j + 1]) - fsdy * (u[i + 1][j + 1] - u[i + 1][j])) /
                (p[i][j] + p[i + 1][j] + p[i + 1][j + 1] + p[i][j + 1]);
            h[i][j] = p[i][j] + .25 * (u[i + 1][j] * u[i + 1][j] + u[i][j] * u[i][j] +
                                       v[i][j + 1] * v[i][j + 1] + v[i][j] * v[i][j]);
        }
    wrap(m, n, cu, cv, h);
    for (int j = 0; j < n; j++)
        z[0][j + 1] = z[m][j + 1];
    for (int i = 0; i <= m; i++)
        z[i][0] = z[i][n];
}

KEEP static void calc2(int m, int n, double tdt)
{
    double tdts8 = tdt / 8, tdtsdx = tdt / dx, tdtsdy = tdt / dy;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            unew[i + 1][j] = uold[i + 1][j] +
                             tdts8 * (z[i + 1][j + 1] + z[i + 1][j]) *
                                 (cv[i + 1][j + 1] + cv[i][j + 1] + cv[i][j] + cv[i + 1][j]) -
                             tdtsdx * (h[i + 1][j] - h[i][j]);
            vnew[i][j + 1] = vold[i][j + 1] -
                             tdts8 * (z[i + 1][j + 1] + z[i][j + 1]) *
                                 (cu[i + 1][j + 1] + cu[i][j + 1] + cu[i][j] + cu[i + 1][j]) -
                             tdtsdy * (h[i][j + 1] - h[i][j]);
            pnew[i][j] = pold[i][j] - tdtsdx * (cu[i + 1][j] - cu[i][j]) -
                         tdtsdy * (cv[i][j + 1] - cv[i][j]);
        }
    wrap(m, n, unew, vnew, pnew);
}

KEEP static void calc3(int m, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            uold[i][j] = u[i][j] + alpha * (unew[i][j] - 2 * u[i][j] + uold[i][j]);
            vold[i][j] = v[i][j] + alpha * (vnew[i][j] - 2 * v[i][j] + vold[i][j]);
            pold[i][j] = p[i][j] + alpha * (pnew[i][j] - 2 * p[i][j] + pold[i][j]);
            u[i][j] = unew[i][j];
            v[i][j] = vnew[i][j];
            p[i][j] = pnew[i][j];
        }
}

static void begin(int m, int n)
{
    const double pi = 3.14159265358979;
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            double x = 2 * pi * i / m, y = 2 * pi * j / n;
            u[i][j] = uold[i][j] = 20 * sin(x + .5) * cos(y);
            v[i][j] = vold[i][j] = -20 * cos(x) * sin(y + .5);
            p[i][j] = pold[i][j] = 2500 * (cos(2 * x) + cos(2 * y)) + 50000;
        }
}

int main(int argc, char **argv)
{
    int n = (int)kernel_argument(argc, argv, 1, 300, MOST);
    long turns = kernel_argument(argc, argv, 2, 40, 1000000);
    double sum = 0;
    begin(n, n);
    calc1(n, n);
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        calc1(n, n);
        calc2(n, n, turn == 0 ? dt : 2 * dt);
        calc3(n, n);
    }
    close_window();
    for (int i = 0; i < n; i++)
        sum += pold[i][i] + u[i][0];
    kernel_end(began, sum);
    return 0;
}
