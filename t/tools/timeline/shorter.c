/* SPDX-License-Identifier: BSD-3-Clause
 * Tests how names of functions are shortened. */
#include "tools/timeline/short_name.h"

#include "t/tap.h"

#include <string.h>

#define E "\342\200\246"

static const struct {
    const char *name, *want;
} cases[] = {
    {"main", "main"},
    {"MPI_Send", "MPI_Send"},
    {"", ""},
    {"a::b(int)", "a::b"},
    {"one::two::three::four(char const*)", "three::four"},
    {"void all<5>()", "all<5>"},
    {"ns::kernel<12, double, std::basic_string<char, std::allocator<char> > "
     ">::apply(std::vector<int> "
     "const&, int)",
     "kernel<12" E ">::apply"},
    {"std::map<averylongargumentname, b>::find(a)", "map<averylongarg" E ">::find"},
    {"x::f<void (int), 3>::g(int)", "f<void " E ">::g"},
    {"(anonymous namespace)::f(int)", "(anon)::f"},
    {"foo [clone .isra.0]", "foo [clone .isra.0]"},
    {"a::foo(int) [clone .part.3]", "a::foo"},
    {"std::ostream& std::operator<< <char>(std::ostream&)",
     "std::ostream& std::operator<< <char>(std::ostream&)"},
    {"the::operators::of(int)", "operators::of"},
    {"main::{lambda(int)#1}::run(int) const", "main::{lambda(int)#1}::run(int) const"},
    {"broken<a", "broken<a"},
    {"libfoo.so+0x12", "libfoo.so+0x12"},
};

int main(void)
{
    char out[SHORTER], name[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        shorter_name(cases[i].name, out);
        ok(strcmp(out, cases[i].want) == 0, "%s: %s", cases[i].name, out);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    shorter_name(name, out);
    ok(strlen(out) == SHORTER - 1, "a name without end is cut");
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "\303\251", 2);
    name[0] = 'x';
    name[1] = ':';
    name[2] = ':';
    name[3] = 'y';
    shorter_name(name, out);
    ok(((unsigned char)out[strlen(out) - 1]) == 0xa9, "between letters");
    return done_testing();
}
