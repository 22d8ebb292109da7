// SPDX-License-Identifier: BSD-3-Clause
// C++: virtual functions, templates, vectors, a map, strings; exceptions only before and after the
// window. SIZE: shapes and words.
#include "kernel.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

class Shape
{
  public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual void grow(double by) = 0;
};

class Square : public Shape
{
  public:
    explicit Square(double side) : side_(side)
    {
    }
    double area() const override
    {
        return side_ * side_;
    }
    void grow(double by) override
    {
        side_ *= by;
    }

  private:
    double side_;
};

class Polygon : public Shape
{
  public:
    explicit Polygon(std::vector<double> x) : x_(std::move(x))
    {
    }
    double area() const override
    {
        double sum = 0;
        for (size_t i = 1; i < x_.size(); i++)
            sum += x_[i - 1] * x_[i];
        return sum;
    }
    void grow(double by) override
    {
        for (double &x : x_)
            x *= by;
    }

  private:
    std::vector<double> x_;
};

template <typename T, unsigned N> struct Matrix {
    T e[N][N];
    Matrix operator*(const Matrix &other) const
    {
        Matrix result{};
        for (unsigned i = 0; i < N; i++)
            for (unsigned k = 0; k < N; k++)
                for (unsigned j = 0; j < N; j++)
                    result.e[i][j] += e[i][k] * other.e[k][j];
        return result;
    }
};

KEEP double total(const std::vector<std::unique_ptr<Shape>> &shapes)
{
    double sum = 0;
    for (const auto &s : shapes) {
        sum += s->area();
        s->grow(1.0001);
    }
    return sum;
}

KEEP long count_words(const std::vector<std::string> &words, std::map<std::string, int> &counts)
{
    long longest = 0;
    for (const auto &w : words) {
        counts[w]++;
        longest = std::max(longest, static_cast<long>(w.size()));
    }
    return longest + static_cast<long>(counts.size());
}

template <typename T> KEEP T power(Matrix<T, 4> m, unsigned n)
{
    Matrix<T, 4> result{};
    for (unsigned i = 0; i < 4; i++)
        result.e[i][i] = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            result = result * m;
        m = m * m;
    }
    return result.e[0][3];
}

KEEP long order(std::vector<int> numbers)
{
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 100 < b % 100; });
    return std::accumulate(numbers.begin(), numbers.end(), 0L,
                           [](long sum, int n) { return (sum * 3 + n) & 0xffffff; });
}

double checked(long n)
{
    if (n < 0)
        throw std::out_of_range("negative");
    return static_cast<double>(n);
}

} // namespace

int main(int argc, char **argv)
{
    long n = kernel_argument(argc, argv, 1, 4000, 1000000);
    long turns = kernel_argument(argc, argv, 2, 10, 1000000);
    uint32_t state = 6;
    std::vector<std::unique_ptr<Shape>> shapes;
    std::vector<std::string> words;
    std::vector<int> numbers;
    std::map<std::string, int> counts;
    double sum = 0;
    for (long i = 0; i < n; i++) {
        uint32_t r = kernel_random(&state);
        if (r % 3 == 0)
            shapes.push_back(std::make_unique<Polygon>(std::vector<double>(2 + r % 9, .5)));
        else
            shapes.push_back(std::make_unique<Square>(r % 10));
        words.push_back("word" + std::to_string(r % 501) +
                        (r % 7 == 0 ? "with a long end to it" : ""));
        numbers.push_back(static_cast<int>(r & 0xffff));
    }
    sum += static_cast<double>(count_words(words, counts));
    try {
        sum += checked(-1);
    } catch (const std::out_of_range &e) {
        sum += e.what()[0];
    }
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        sum += total(shapes);
        sum += static_cast<double>(count_words(words, counts));
        sum += static_cast<double>(order(numbers));
        for (long i = 0; i < n / 20 + 1; i++)
            sum +=
                power(Matrix<double, 4>{{{.1, .2, .3, .1}, {.2, .1}, {.3}, {.4, .1, .2, .1}}}, 13);
    }
    close_window();
    try {
        sum += checked(-n);
    } catch (const std::exception &) {
        sum++;
    }
    kernel_end(began, sum);
    return 0;
}
