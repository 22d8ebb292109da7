/* SPDX-License-Identifier: BSD-3-Clause
 * An interpreter: a stack machine that sieves primes, multiplies and hashes. SIZE: the limit of the
 * sieve. */
#include "kernel.h"

#include <stdlib.h>

enum operation {
    PUSH, /* the number that follows */
    LOAD, /* the register that follows */
    STORE,
    FETCH, /* top = memory[top] */
    PUT,   /* memory[top] = the value below it */
    ADD,
    SUBTRACT,
    MULTIPLY,
    XOR,
    SHIFT,
    LESS,
    JUMP,
    JUMP_ZERO,
    DROP,
    HALT,
};

KEEP static long run(const int *code, long *memory, long *registers, long limit)
{
    long stack[64], *top = stack, steps = 0;
    *top = 0;
    registers[0] = limit;
    for (const int *pc = code;; steps++) {
        switch ((enum operation) * pc++) {
        case PUSH: *++top = *pc++; break;
        case LOAD: *++top = registers[*pc++]; break;
        case STORE: registers[*pc++] = *top--; break;
        case FETCH: *top = memory[*top]; break;
        case PUT:
            memory[*top] = top[-1];
            top -= 2;
            break;
        case ADD: top--, *top += top[1]; break;
        case SUBTRACT: top--, *top -= top[1]; break;
        case MULTIPLY: top--, *top = (long)((unsigned long)*top * (unsigned long)top[1]); break;
        case XOR: top--, *top ^= top[1]; break;
        case SHIFT: *top = (long)((unsigned long)*top >> 7); break;
        case LESS: top--, *top = *top < top[1]; break;
        case JUMP: pc = code + *pc; break;
        case JUMP_ZERO: pc = *top-- == 0 ? code + *pc : pc + 1; break;
        case DROP: top--; break;
        case HALT: return steps;
        }
    }
}

/* --- A program for the interpreter --- */

struct program {
    int code[256], count;
};

static int put(struct program *p, int word)
{
    p->code[p->count] = word;
    return p->count++;
}

static void put_two(struct program *p, enum operation o, int argument)
{
    (void)put(p, (int)o);
    (void)put(p, argument);
}

/* register[to] = register[a] o register[b] */
static void put_sum(struct program *p, int to, int a, enum operation o, int b)
{
    put_two(p, LOAD, a);
    put_two(p, LOAD, b);
    (void)put(p, (int)o);
    put_two(p, STORE, to);
}

static void put_number(struct program *p, int to, int number)
{
    put_two(p, PUSH, number);
    put_two(p, STORE, to);
}

/* Writes a jump that is taken unless register[a] < register[b]. Returns the place of its target,
 * which the caller sets. */
static int put_unless_less(struct program *p, int a, int b)
{
    put_two(p, LOAD, a);
    put_two(p, LOAD, b);
    (void)put(p, LESS);
    (void)put(p, JUMP_ZERO);
    return put(p, 0);
}

static void put_store(struct program *p, int number, int at)
{
    put_two(p, PUSH, number);
    put_two(p, LOAD, at);
    (void)put(p, PUT);
}

/* Registers: 0 the limit, 1 a number, 2 its multiples, 3 a hash of the primes, 4 the constant 1. */
static void put_sieve(struct program *p)
{
    put_number(p, 4, 1);
    put_number(p, 2, 0);
    int clear = p->count, cleared = put_unless_less(p, 2, 0);
    put_store(p, 0, 2);
    put_sum(p, 2, 2, ADD, 4);
    put_two(p, JUMP, clear);
    p->code[cleared] = p->count;
    put_number(p, 1, 2);
    put_number(p, 3, 17);
    int outer = p->count, end = put_unless_less(p, 1, 0);
    put_two(p, LOAD, 1);
    (void)put(p, FETCH);
    put_two(p, PUSH, 1);
    (void)put(p, XOR);
    (void)put(p, JUMP_ZERO);
    int composite = put(p, 0);
    put_two(p, LOAD, 3);
    put_two(p, PUSH, 31);
    (void)put(p, MULTIPLY);
    put_two(p, LOAD, 3);
    (void)put(p, SHIFT);
    (void)put(p, XOR);
    put_two(p, STORE, 3);
    put_sum(p, 3, 3, XOR, 1);
    put_sum(p, 2, 1, ADD, 1);
    int inner = p->count, next = put_unless_less(p, 2, 0);
    put_store(p, 1, 2);
    put_sum(p, 2, 2, ADD, 1);
    put_two(p, JUMP, inner);
    p->code[composite] = p->code[next] = p->count;
    put_sum(p, 1, 1, ADD, 4);
    put_two(p, JUMP, outer);
    p->code[end] = p->count;
    put_two(p, LOAD, 3);
    put_two(p, PUSH, 5);
    (void)put(p, SUBTRACT);
    (void)put(p, DROP);
    (void)put(p, HALT);
}

int main(int argc, char **argv)
{
    long limit = kernel_argument(argc, argv, 1, 20000, 10000000);
    long turns = kernel_argument(argc, argv, 2, 20, 1000000), sum = 0;
    long *memory = calloc((size_t)limit, sizeof *memory), registers[8] = {0};
    struct program sieve = {.count = 0};
    put_sieve(&sieve);
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++)
        sum += run(sieve.code, memory, registers, limit);
    close_window();
    kernel_end(began, (double)sum + (double)(registers[3] & 0xffff));
    return 0;
}
