/* SPDX-License-Identifier: BSD-3-Clause
 * memory_thrown_in_threads THREADS: each thread throws and catches exceptions from several depths.
 * Prints a sum for each. */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static thread_local volatile long sink;

extern "C" {
__attribute__((noinline)) int leaf(int x)
{
    sink += x;
    return x + 1;
}

__attribute__((noinline)) int throws(int n)
{
    if (n == 0)
        throw 5;
    return throws(n - 1) + leaf(n);
}

__attribute__((noinline)) int catches(int k)
{
    try {
        return throws(k % 4);
    } catch (int) {
        return k;
    }
}
}

static void work(long *sum)
{
    for (int k = 0; k < 6000; k++)
        *sum += catches(k);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    std::vector<long> sums(n);
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back(work, &sums[i]);
    for (std::thread &t : threads)
        t.join();
    for (long sum : sums)
        printf("%ld\n", sum);
}
