// SPDX-License-Identifier: BSD-3-Clause
// Virtual functions, templates, and exceptions that are not thrown, for t/isa/memory/skeleton.t.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual double area(int n) const = 0;
};
struct square : shape {
    double a = 2;
    double area(int n) const override
    {
        return a * a * n;
    }
};
struct disc : shape {
    double r[3] = {1, 2, 3};
    double area(int n) const override
    {
        return 3 * r[n % 3] * r[n % 3];
    }
};

int main()
{
    std::vector<shape *> all;
    std::map<std::string, int> count;
    double sum = 0;
    for (int i = 0; i < 20; i++)
        all.push_back(i % 3 != 0 ? static_cast<shape *>(new square) : new disc);
    for (auto *s : all)
        sum += s->area(static_cast<int>(all.size()));
    std::vector<int> v;
    for (int i = 0; i < 60; i++)
        v.push_back(i * 37 % 61);
    std::sort(v.begin(), v.end(),
              [](int a, int b) { return a % 10 != b % 10 ? a % 10 < b % 10 : a < b; });
    for (int i : v)
        count[std::to_string(i % 7)] += i;
    for (auto *s : all)
        delete s;
    return std::printf("%g %d %d\n", sum, v[5], count["3"]) < 0;
}
