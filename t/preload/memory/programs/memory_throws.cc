// SPDX-License-Identifier: BSD-3-Clause
// Throws exceptions through functions whose memory accesses are traced, and catches them. The
// output says whether all went right.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static unsigned long cells[64];

struct counted {
    int n;
    explicit counted(int i) : n(i)
    {
        cells[n & 63]++;
    }
    ~counted()
    {
        cells[n & 63] += 100;
    }
};

extern "C" __attribute__((noinline)) void open_window()
{
    asm volatile("");
}
extern "C" __attribute__((noinline)) void close_window()
{
    asm volatile("");
}

__attribute__((noinline)) int descend(int depth)
{
    counted c(depth);
    if (depth == 0)
        throw std::runtime_error("at the bottom");
    int n = descend(depth - 1);
    cells[63]++;
    return n + 1;
}

__attribute__((noinline)) int rethrow(int depth)
{
    counted c(depth);
    try {
        return descend(depth);
    } catch (const std::exception &e) {
        cells[62]++;
        throw;
    }
}

__attribute__((noinline)) int attempt(int i)
{
    try {
        return i % 2 == 0 ? descend(i % 20) : rethrow(i % 20);
    } catch (const std::exception &e) {
        return static_cast<int>(std::string(e.what()).size());
    }
}

// The window opens within this function, which an exception leaves, or which catches one.
__attribute__((noinline)) int opening(int i)
{
    counted c(i);
    open_window();
    counted d(i + 1);
    if (i % 3 == 0)
        throw std::runtime_error("at once");
    try {
        return descend(i % 5);
    } catch (const std::exception &e) {
        cells[61]++;
        if (i % 3 == 1)
            throw;
    }
    return i;
}

int main(int argc, char **argv)
{
    unsigned long sum = 0;
    for (int i = 0; i < (argc > 1 ? std::atoi(argv[1]) : 1); i++) {
        open_window();
        sum = sum * 31 + static_cast<unsigned long>(attempt(i));
        close_window();
        try {
            sum += static_cast<unsigned long>(opening(i));
        } catch (const std::exception &e) {
            sum ^= static_cast<unsigned long>(e.what()[0]);
        }
        close_window();
    }
    for (unsigned long c : cells)
        sum = sum * 31 + c;
    std::printf("%lx\n", sum);
}
