/* SPDX-License-Identifier: BSD-3-Clause
 * memory_exceptions N: throws N exceptions through frames with destructors, some of which throw and
 * catch themselves, and rethrows every third. Prints how many were caught where. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

static long inner, outer, rethrown, destroyed;

__attribute__((noinline)) static void throws(int depth, long n)
{
    if (n % 5 == 0)
        usleep(50);
    if (depth % 2 == 0)
        throw std::runtime_error("even");
    throw n;
}

struct guard {
    long n;
    explicit guard(long number) : n(number)
    {
    }
    ~guard()
    {
        destroyed++;
        try {
            if (n % 7 == 0)
                throws(1, n);
        } catch (long) {
            inner++;
        }
        if (n % 11 == 0)
            usleep(30);
    }
};

__attribute__((noinline)) static long descend(int depth, long n)
{
    guard g(n + depth);
    if (depth == 0)
        throws(static_cast<int>(n), n);
    return descend(depth - 1, n) + 1;
}

__attribute__((noinline)) static long again(long n)
{
    try {
        return descend(static_cast<int>(n % 6), n);
    } catch (...) {
        if (n % 3 != 0)
            return 0;
        rethrown++;
        throw;
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    for (long n = 0; n < rounds; n++) {
        try {
            again(n);
        } catch (const std::exception &) {
            outer++;
        } catch (long) {
            outer += 2;
        }
    }
    std::printf("inner %ld, outer %ld, rethrown %ld, destroyed %ld\n", inner, outer, rethrown,
                destroyed);
    return 0;
}
