// SPDX-License-Identifier: BSD-3-Clause
// Functions whose names are hard to find: overloads, templates, operators, scopes without a name.
#include <stdexcept>
#include <string>
#include <vector>
#define KEEP __attribute__((noinline, used))
namespace outer
{
struct Thing {
    int v;
    KEEP Thing(int a) : v(a)
    {
    }
    KEEP ~Thing()
    {
    }
    KEEP int operator()(int a) const
    {
        return v + a;
    }
    KEEP bool operator<(const Thing &o) const
    {
        return v < o.v;
    }
    KEEP operator long() const
    {
        return v;
    }
    KEEP int solve(int a)
    {
        return a * v;
    }
};
KEEP int solve(int a)
{
    return a + 1;
}
KEEP double solve(double a, const std::vector<int> &b)
{
    return a + double(b.size());
}
template <class T> KEEP T solve_all(std::vector<T> a)
{
    return a.empty() ? T() : a[0];
}
template <class T> struct Box {
    template <class U> KEEP U deeper(U a)
    {
        return a + T(1);
    }
};
template <class T> KEEP auto added(T a, T b) -> decltype(a + b)
{
    return a + b;
}
template <class T> KEEP int (*chosen(T a))(int)
{
    return a > 1 ? static_cast<int (*)(int)>(solve) : nullptr;
}
template <class T> KEEP bool operator<<(const Thing &o, T a)
{
    return o.v < a;
}
namespace
{
KEEP int hidden(int a)
{
    return a - 1;
}
} // namespace
KEEP int thrower(int a)
{
    if (a > 3)
        throw std::runtime_error("big");
    return a;
}
} // namespace outer
extern "C" KEEP int solve(int a)
{
    return a;
}
int main(int argc, char **)
{
    outer::Thing t(argc);
    auto lambda = [](int a) KEEP { return a * 3; };
    std::string text = "x";
    int n = 0;
    try {
        n = outer::thrower(argc);
    } catch (const std::exception &e) {
        n = int(text.size());
    }
    n += t(1) + (t < outer::Thing(2)) + int(long(t)) + t.solve(1) + outer::solve(1) + solve(2) +
         lambda(1);
    n += int(outer::solve(1.0, std::vector<int>(3))) + outer::solve_all(std::vector<int>(2)) +
         int(outer::solve_all(std::vector<double>(2))) + outer::hidden(1);
    n += outer::added<long>(n, 2) + (outer::chosen(n) != nullptr) + (t << n);
    n += int(outer::Box<int>().deeper<long>(n) + outer::Box<char>().deeper<long>(n)) +
         outer::Box<int>().deeper<char>('a');
    return n == 12345;
}
