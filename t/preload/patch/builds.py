#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C program with many functions of all kinds. Each function counts how often it is
entered.

builds.py FUNCTIONS SEED: prints the program. The program takes the number of calls from main as
its argument. It prints a checksum, then for each function its name and its count. What it
computes does not depend on the compiler."""
import random
import sys

HEAD = """
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__clang__)
#define PLAIN __attribute__((noinline, used))
#else
#define PLAIN __attribute__((noinline, noclone, used))
#endif
typedef unsigned long word;
typedef struct { word a, b; double c; word d; } record;
static word entered[%(n)d];
static volatile word sink;
"""

# One function of each kind. K: its number; N: a constant; TO: a function with a higher number.
KINDS = [
    "PLAIN word f@K(word x) { entered[@K]++; return x * @Nul + 1; }",
    "PLAIN word f@K(word x) { entered[@K]++; word r = 0; for (word i = 0; i < (x & 7); i++) r += (i ^ x) & 1 ? i * @N : x >> i; return r; }",
    "PLAIN word f@K(word x) { entered[@K]++; switch (x % 9) { case 0: return x + 1; case 1: return x * 3; case 2: sink = x; return 5; "
    "case 3: return x ^ @N; case 4: return ~x; case 5: return x << 3; case 6: return x / 7; case 7: return f@TO(x); } return 0; }",
    "PLAIN word f@K(word x) { entered[@K]++; static word (*volatile const again)(word) = f@K; return (x & 15) == 0 ? x : 1 + again((x & 15) - 1) * @N; }",
    "PLAIN word f@K(word x) { entered[@K]++; return f@TO(x + @N); }",
    "PLAIN word f@K(word x) { entered[@K]++; double y = (double)(x & 1023) * 0.5 + @N; return (word)(y * y * 0.25); }",
    "static PLAIN record g@K(word x) { record r = {x, x * @N, (double)(x & 255), ~x}; return r; }\n"
    "PLAIN word f@K(word x) { entered[@K]++; record r = g@K(x), s = g@K(r.b); return r.a + s.b + (word)s.c - r.d; }",
    "static PLAIN word v@K(int n, ...) { va_list l; va_start(l, n); word r = 0; while (n-- > 0) r = r * 31 + va_arg(l, word); va_end(l); return r; }\n"
    "PLAIN word f@K(word x) { entered[@K]++; return v@K(4, x, x + 1, x * @N, x >> 2); }",
    "PLAIN word f@K(word x) { entered[@K]++; static word (*volatile const to[])(word) = {f@TO, f@TO2}; return to[x & 1](x) + @N; }",
    "PLAIN word f@K(word x) { entered[@K]++; char t[32]; size_t n = (size_t)sprintf(t, \"%lx\", x); word r = 0; while (n-- > 0) r = r * 5 + (word)t[n]; return r; }",
    "PLAIN word f@K(word x) { entered[@K]++; jmp_buf b; volatile word n = x & 3; if (setjmp(b) != 0) n = n - 1; if (n != 0) longjmp(b, 1); return x + @N; }",
    "PLAIN word f@K(word x) { entered[@K]++; word n = (x & 31) + 1, t[n], r = 0; for (word i = 0; i < n; i++) t[i] = x + i * @N; for (word i = 0; i < n; i++) r ^= t[n - 1 - i] * i; return r; }",
    "PLAIN word f@K(word x) { entered[@K]++; static word t[64]; for (int i = 0; i < 64; i++) t[i] = t[i] + x * (word)i; word r = 0; for (int i = 0; i < 64; i++) r += t[i] >> 1; return r; }",
    "PLAIN word f@K(word x) { entered[@K]++; unsigned n = (unsigned)(x & 255) + 1; __asm__ volatile(\"1: dec %0\\n\\tjnz 1b\" : \"+r\"(n) : : \"cc\"); return x - n; }",
    "void one@K(void);\n__asm__(\".text\\n.globl one@K\\n.type one@K,@function\\none@K: ret\\n.size one@K,.-one@K\\n\");\n"
    "PLAIN word f@K(word x) { entered[@K]++; one@K(); return x ^ @N; }",
    "PLAIN word f@K(word x) { entered[@K]++; static void *const to[] = {&&a, &&b, &&c}; word r = x; goto *to[x % 3]; a: r += 1; b: r *= @N; c: return r; }",
    "PLAIN word f@K(word x) { entered[@K]++; return x < @N ? f@TO(x) : f@TO2(x) * 2; }",
    "PLAIN word f@K(word x) { entered[@K]++; record r[3]; memset(r, (int)(x & 127), sizeof r); memcpy(&r[1], &x, sizeof x); return r[1].a + r[2].d; }",
]


def main():
    n, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    print(HEAD % {"n": n})
    for i in range(n):
        print(f"word f{i}(word x);")
    for i in range(n):
        kinds = [k for k in KINDS if i + 3 < n or "@TO" not in k]
        body = kinds[i % len(KINDS)] if i < len(KINDS) and i + 3 < n else rng.choice(kinds)
        body = body.replace("@TO2", str(rng.randrange(i + 1, n) if i + 1 < n else i))
        body = body.replace("@TO", str(rng.randrange(i + 1, n) if i + 1 < n else i))
        print(body.replace("@K", str(i)).replace("@N", str(rng.randrange(3, 1000))))
    print("static word (*const all[])(word) = {" + ", ".join(f"f{i}" for i in range(n)) + "};")
    print("int main(int argc, char **argv) {\n    word state = 1, sum = 0;\n"
          "    for (long i = argc > 1 ? atol(argv[1]) : 1; i > 0; i--) {\n"
          "        state = state * 6364136223846793005ul + 1442695040888963407ul;\n"
          "        sum = sum * 3 + all[(state >> 33) %% %d](state >> 20);\n    }\n"
          "    printf(\"sum %%lx\\n\", sum);\n"
          "    for (int i = 0; i < %d; i++)\n        printf(\"f%%d %%lu\\n\", i, entered[i]);\n"
          "    return 0;\n}" % (n, n))


main()
