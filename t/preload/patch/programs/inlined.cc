// SPDX-License-Identifier: BSD-3-Clause
// A function that is inlined at two places, and other functions with similar names.
#include <cstdio>
#include <cstdlib>

namespace grids
{
struct Grid {
    int sum = 0;
    inline __attribute__((always_inline)) void AdvanceTime(int n)
    {
        sum += n * std::atoi("1");
    }
    __attribute__((noinline)) void Step();
    __attribute__((noinline)) void AdvanceTimeStep()
    {
        sum += std::atoi("2");
    }
    __attribute__((noinline)) void AdvanceTip()
    {
        sum += std::atoi("3");
    }
    __attribute__((noinline)) void GridAdvanceTime()
    {
        sum += std::atoi("4");
    }
};
void Grid::Step()
{
    AdvanceTime(10);
}
} // namespace grids

int main()
{
    grids::Grid g;
    for (int i = 0; i < 3; i++)
        g.Step();
    g.AdvanceTime(100);
    g.AdvanceTimeStep();
    g.AdvanceTip();
    g.GridAdvanceTime();
    std::printf("%d\n", g.sum);
}
