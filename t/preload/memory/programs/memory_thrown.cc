// SPDX-License-Identifier: BSD-3-Clause
// Exceptions in a window whose accesses are compared with single steps (memory_thrown.t): caught
// near and far, rethrown, thrown while another one unwinds and by handlers, through destructors,
// libc and recursion.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))
extern "C" void open_window(void);
extern "C" void close_window(void);

static long cells[64];

namespace
{
struct counted {
    long n;
    explicit counted(long i) : n(i)
    {
        cells[n & 63]++;
    }
    counted(const counted &from) : n(from.n + 1)
    {
        cells[n & 63] += 3;
    }
    ~counted()
    {
        cells[n & 63] += 100;
    }
};

struct own_error : std::runtime_error {
    counted c;
    explicit own_error(long i) : std::runtime_error("own"), c(i)
    {
    }
};

struct shape {
    virtual ~shape() = default;
    virtual long area(long i) const = 0;
};
struct square : shape {
    APART long area(long i) const override
    {
        if (i % 5 == 0)
            throw own_error(i);
        cells[3]++;
        return i * i;
    }
};
struct line : shape {
    APART long area(long i) const override
    {
        std::unique_ptr<long> kept(new long(i));
        if (i % 3 == 0)
            throw i;
        return *kept;
    }
};

// The members are destroyed when the body throws.
struct whole {
    counted first, second;
    APART explicit whole(long i) : first(i), second(i + 7)
    {
        if (i % 2 == 0)
            throw std::logic_error("half");
        cells[5]++;
    }
};
} // namespace

APART static void may_throw(long i)
{
    cells[i & 63]++;
    if (i % 13 == 0)
        throw i;
    cells[1]--;
}

// Catches in the function that calls the throwing one, in a loop.
APART static long in_a_loop(long n)
{
    long s = 0;
    for (long i = 1; i < n; i++) {
        try {
            may_throw(i);
        } catch (long x) {
            s += cells[x & 7];
            cells[2]++;
        }
    }
    return s;
}

// Has a destructor in each frame: landing pads that end in _Unwind_Resume.
APART static long descend(long depth)
{
    counted c(depth);
    if (depth == 0)
        throw std::runtime_error("at the bottom");
    long n = descend(depth - 1);
    cells[63]++;
    return n + 1;
}

APART static long far(long depth)
{
    try {
        return descend(depth);
    } catch (const std::exception &e) {
        return (long)std::string(e.what()).size();
    }
}

APART static long nested(long i)
{
    counted outer(i);
    try {
        counted inner(i + 1);
        try {
            if (i % 3 == 0)
                throw own_error(i);
            may_throw(13 * i);
        } catch (const own_error &e) {
            cells[e.c.n & 63]++;
            if (i % 2 == 0)
                throw;                         // rethrow
            throw std::logic_error("another"); // thrown by a handler
        }
    } catch (const std::runtime_error &e) {
        return 1 + cells[4];
    } catch (const std::logic_error &e) {
        return 2;
    } catch (...) {
        cells[6]++;
        return 3;
    }
    return 4;
}

// Throws and catches while an exception unwinds.
struct busy {
    long n;
    APART ~busy()
    {
        try {
            may_throw(n);
        } catch (long x) {
            cells[8] += x;
        }
    }
};

APART static long amid_another(long i)
{
    try {
        busy b{i};
        throw counted(i);
    } catch (counted c) { // by value
        return c.n;
    }
}

APART static long made(long i)
{
    try {
        whole w(i);
        return w.first.n;
    } catch (const std::logic_error &) {
        return cells[7];
    }
}

// Has more arguments than there are registers, and a frame whose size is known only at run time.
APART static long with_many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    volatile char *room = (char *)__builtin_alloca((size_t)(16 + a));
    room[a] = 1;
    may_throw(13 * i);
    return a + b + c + d + e + f + g + h + i + room[a];
}

APART static long calls_many(long n)
{
    long s = 0;
    for (long i = 1; i <= n; i++) {
        try {
            s += with_many(i, s, i, 2, 3, s, 5, 6, i);
        } catch (long x) {
            s ^= x + cells[9];
        }
    }
    return s;
}

APART static int compare(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    if (x == 5 && y != 5)
        throw own_error(x + y);
    return (x > y) - (x < y);
}

// Throws through libc.
APART static long sorted(void)
{
    long list[9] = {4, 3, 9, 1, 5, 2, 8, 7, 6};
    try {
        std::qsort(list, 9, sizeof list[0], compare);
    } catch (const std::exception &e) {
        cells[10] += list[0] + e.what()[0];
    }
    return list[3];
}

APART static long objects(long n)
{
    std::vector<std::unique_ptr<shape>> list;
    std::map<long, long> areas;
    for (long i = 0; i < n; i++)
        list.push_back(i % 2 != 0 ? std::unique_ptr<shape>(new square)
                                  : std::unique_ptr<shape>(new line));
    long i = 0, s = 0;
    for (const auto &one : list) {
        i++;
        try {
            areas[i % 7] += one->area(i);
        } catch (const std::exception &e) {
            areas[-1]++;
        } catch (long x) {
            areas[-2] += x;
        }
        try {
            s += areas.at(i % 9);
        } catch (const std::out_of_range &) { // thrown by libstdc++
            s--;
        }
    }
    for (const auto &area : areas)
        s = s * 31 + area.second;
    return s;
}

APART static long all(long i)
{
    return in_a_loop(28) + far(i) + far(1) + nested(i) + nested(i + 1) + nested(i + 2) +
           amid_another(13 * i) + amid_another(i) + made(i) + made(i + 1) + calls_many(2) +
           sorted() + objects(8);
}

int main(int argc, char **argv)
{
    long s = argc > 1 ? std::atol(argv[1]) : 0;
    open_window();
    s = s * 31 + all(1);
    try {
        may_throw(26);
    } catch (long x) {
        s += x;
    }
    try {
        (void)descend(2);
    } catch (...) {
        s++;
    }
    close_window();
    for (long c : cells)
        s = s * 31 + c;
    std::printf("%lx\n", (unsigned long)s);
    return 0;
}
