/* SPDX-License-Identifier: BSD-3-Clause
 * The beginning of each skeleton's source: what it and its host have in common (struct skeleton, as isa/skel/replay.h has it), input,
 * output, and the operations of expressions that C has no operators for. */
#include "isa/skel/source.h"

const char *const skel_prelude[] = {
    "typedef unsigned long long u64;",
    "typedef unsigned char u8;",
    "typedef unsigned short u16;",
    "typedef unsigned u32;",
    "#define SLOW __attribute__((optimize(\"O1\")))",
    "struct skeleton_access { u64 pc, address, what; /* bytes, and above 32 bits of them the kind "
    "*/ "
    "};",
    "struct skeleton {",
    "    const u8 *in, *in_end;",
    "    struct skeleton_access *out, *out_end;",
    "    u64 image, fs, gs;",
    "    int (*call)(struct skeleton *);",
    "    void (*more)(struct skeleton *, unsigned);",
    "    int (*turn)(struct skeleton *);",
    "    void (*flush)(struct skeleton *);",
    "    u64 values, outcomes;",
    "    void *host;",
    "    u64 entered, stack;",
    "    int (*left)(struct skeleton *, u64);",
    "    u64 lowest;",
    "    void (*deep)(struct skeleton *);",
    "    u64 passed[16];",
    "    void (*lost)(struct skeleton *, u64 pc);",
    "};",
    "struct skeleton_function { u64 address; int (*run)(struct skeleton *); const char *name; "
    "unsigned number, image; };",
    "#define ENTRY(number, address, name, image) static const struct skeleton_function e_##number "
    "__attribute__((used, aligned(8), section(\"skeleton_table\"))) = {address, f_##number, name, "
    "number, image};",
    "extern const struct skeleton_function __start_skeleton_table[] __attribute__((weak, "
    "visibility(\"hidden\"))), __stop_skeleton_table[] __attribute__((weak, "
    "visibility(\"hidden\")));",
    "const struct skeleton_function *skeleton_functions(unsigned *count)",
    "{",
    "    *count = (unsigned)(__stop_skeleton_table - __start_skeleton_table);",
    "    return __start_skeleton_table;",
    "}",
    "/* Loops by their heads' addresses, of which parent is another (-1: none); the loop that an "
    "access's instruction is in. */",
    "struct skeleton_loop { u64 head; int parent; unsigned depth; };",
    "struct skeleton_place { u64 pc; int loop; };",
    "struct skeleton_shape { unsigned number, loop_count, place_count; const struct skeleton_loop "
    "*loops; const struct skeleton_place *places; };",
    "#define SHAPE(number, loops, places) static const struct skeleton_shape s_##number "
    "__attribute__((used, aligned(8), section(\"skeleton_shape_table\"))) = {number, loops, "
    "places, "
    "l_##number, p_##number};",
    "extern const struct skeleton_shape __start_skeleton_shape_table[] __attribute__((weak, "
    "visibility(\"hidden\"))), __stop_skeleton_shape_table[] __attribute__((weak, "
    "visibility(\"hidden\")));",
    "const struct skeleton_shape *skeleton_shapes(unsigned *count)",
    "{",
    "    *count = (unsigned)(__stop_skeleton_shape_table - __start_skeleton_shape_table);",
    "    return __start_skeleton_shape_table;",
    "}",
    "/* What loops' counters are called, and accesses of places, in the order of the shape. */",
    "struct skeleton_text { unsigned number; const char *const *counters, *const *accesses; };",
    "#define TEXT(number) static const struct skeleton_text x_##number __attribute__((used, "
    "aligned(8), section(\"skeleton_text_table\"))) = {number, c_##number, a_##number};",
    "extern const struct skeleton_text __start_skeleton_text_table[] __attribute__((weak, "
    "visibility(\"hidden\"))), __stop_skeleton_text_table[] __attribute__((weak, "
    "visibility(\"hidden\")));",
    "const struct skeleton_text *skeleton_texts(unsigned *count)",
    "{",
    "    *count = (unsigned)(__stop_skeleton_text_table - __start_skeleton_text_table);",
    "    return __start_skeleton_text_table;",
    "}",
    "/* Functions have what is read and written next for themselves, and hand it over to whom they "
    "call. */",
    "#define BEGIN() const u8 *in = s->in; struct skeleton_access *out = s->out",
    "#define GIVE() (s->in = in, s->out = out)",
    "#define TAKE() (in = s->in, out = s->out)",
    "#define NEED(bytes) do { if (__builtin_expect((u64)(s->in_end - in) < (bytes), 0)) { GIVE(); "
    "s->more(s, bytes); TAKE(); } } while (0)",
    "#define READ(bytes) ({ u64 read = 0; NEED(bytes); __builtin_memcpy(&read, in, bytes); in += "
    "bytes; read; })",
    "#ifdef SKELETON_COUNTS",
    "#define IN(bytes) (s->values++, READ(bytes))",
    "#define OUTCOME(bytes) (s->outcomes++, READ(bytes))",
    "#else",
    "#define IN(bytes) READ(bytes)",
    "#define OUTCOME(bytes) READ(bytes)",
    "#endif",
    "/* Before so many OUT() up to the next call. What is read between them takes no room. */",
    "#define ROOM(count) do { if (__builtin_expect((u64)((u8 *)s->out_end - (u8 *)out) < (count) * "
    "sizeof *out, 0)) { GIVE(); s->flush(s); TAKE(); } } while (0)",
    "#define OUT(pc, kind, bytes, address) do { const u64 place = address; *out++ = (struct "
    "skeleton_access){image + (pc), place, (bytes) | (u64)(kind) << 32}; } while (0)",
    "#define CALL() do { GIVE(); if (s->call(s) != 0) return 1; TAKE(); } while (0)",
    "#define TURN() do { if (__builtin_expect(in == s->in_end, 0)) { GIVE(); if (s->turn(s) != 0) "
    "return 1; TAKE(); } } while (0)",
    "#define LEAVE() do { GIVE(); return 0; } while (0)",
    "/* Functions that left by a jump to another, which returns for them. Where nothing more is to "
    "be "
    "read the recording has ended, before the call or jump as far as is known. */",
    "static inline int skeleton_left(struct skeleton *s, int left)",
    "{",
    "    while (left == 2) {",
    "        if (s->in == s->in_end && s->turn(s) != 0)",
    "            return 1;",
    "        left = s->left(s, s->stack);",
    "    }",
    "    return left;",
    "}",
    "#define DIRECT(function, ...) do { TURN(); GIVE(); s->image = image; s->entered++; if "
    "(__builtin_expect((u64)__builtin_frame_address(0) < s->lowest, 0)) s->deep(s); if "
    "(skeleton_left(s, function(s, __VA_ARGS__)) != 0) return 1; TAKE(); } while (0)",
    "#define TAIL(function, to) do { GIVE(); s->image = image; s->entered++; s->left = function; "
    "s->stack = to; return 2; } while (0)",
    "/* A jump that leads to no block of its function: there the recording ends. */",
    "#define LOST(pc) do { GIVE(); s->lost(s, pc); return 1; } while (0)",
    "/* isa/skel/lanes.h: which elements of a vector's operand are accessed. */",
    "static void skeleton_lanes(struct skeleton *s, u64 image, u64 pc, u8 kind, unsigned bytes, "
    "unsigned how, "
    "unsigned count, unsigned index_bytes, unsigned index_width, unsigned scale, unsigned "
    "mask_bytes, unsigned mask_width, u64 address)",
    "{",
    "    BEGIN();",
    "    unsigned width = index_width + mask_width, packed = 0;",
    "    NEED(width);",
    "    const u8 *index = in, *mask = in + index_width;",
    "    in += width;",
    "    ROOM(64);",
    "    for (unsigned n = 0; n < count; n++) {",
    "        u64 to = address + (u64)(how == 3 ? packed : n) * bytes, at = 0;",
    "        if ((mask_bytes != 0 ? mask[(n + 1) * mask_bytes - 1] >> 7 : mask[n / 8] >> n % 8 & "
    "1) "
    "== 0)",
    "            continue;",
    "        if (how == 1) {",
    "            __builtin_memcpy(&at, index + n * index_bytes, index_bytes);",
    "            to = address + (index_bytes == 4 ? (u64)(long long)(int)at : at) * scale;",
    "        }",
    "        OUT(pc, kind, bytes, how == 4 ? address : to);",
    "        packed++;",
    "        if (how == 4)",
    "            break;",
    "    }",
    "    GIVE();",
    "}",
    "#define LANES(pc, kind, bytes, how, count, index_bytes, index_width, scale, mask_bytes, "
    "mask_width, address) do { const u64 place = address; GIVE(); skeleton_lanes(s, image, pc, "
    "kind, "
    "bytes, how, count, index_bytes, index_width, scale, mask_bytes, mask_width, place); TAKE(); } "
    "while (0)",
    "static inline u64 zx(unsigned bits, u64 x)",
    "{",
    "    return bits >= 64 ? x : x & ((1ull << bits) - 1);",
    "}",
    "static inline u64 sx(unsigned bits, u64 x)",
    "{",
    "    return bits >= 64 ? x : (zx(bits, x) ^ 1ull << (bits - 1)) - (1ull << (bits - 1));",
    "}",
    "static inline u64 shl(unsigned bits, u64 x, u64 n) { return x << (n & (bits == 64 ? 63 : "
    "31)); }",
    "static inline u64 shr(unsigned bits, u64 x, u64 n) { return zx(bits, x) >> (n & (bits == 64 "
    "? 63 : 31)); }",
    "static inline u64 sar(unsigned bits, u64 x, u64 n)",
    "{",
    "    return zx(bits, (u64)((long long)sx(bits, x) >> (n & (bits == 64 ? 63 : 31))));",
    "}",
    "static inline u64 rol(unsigned bits, u64 x, u64 n)",
    "{",
    "    n = (n & (bits == 64 ? 63 : 31)) % bits;",
    "    x = zx(bits, x);",
    "    return n == 0 ? x : zx(bits, x << n | x >> (bits - n));",
    "}",
    "static inline u64 insert(unsigned bits, unsigned at, u64 x, u64 part)",
    "{",
    "    return (x & ~(zx(bits, ~0ull) << at)) | zx(bits, part) << at;",
    "}",
    "static inline u64 extract(unsigned bits, unsigned at, u64 x) { return zx(bits, x >> at); }",
    "/* So far behind the begin of a table that has so many bytes; where it is in none of its "
    "entries what skel_astray() says (isa/skel/skel.h). */",
    "static inline u64 entry(const void *table, u64 size, unsigned bytes, u64 at)",
    "{",
    "    u64 n = 0;",
    "    if (at >= size || at % bytes != 0)",
    "        return bytes == 4 ? 0x7fffffff : ~0ull >> 1;",
    "    __builtin_memcpy(&n, (const u8 *)table + at, bytes);",
    "    return n;",
    "}",
    "/* Of an image: 0 where it is in none, or nothing is known of it. */",
    "static inline u64 word(const void *table, u64 size, unsigned bytes, u64 at, u64 image)",
    "{",
    "    u64 n = at < size ? entry(table, size, bytes, at) : 0;",
    "    return n != 0 && n != ~0ull >> 1 ? image + n : 0;",
    "}",
    "static inline int below(unsigned bits, u64 a, u64 b) { return zx(bits, a) < zx(bits, b); }",
    "static inline int less(unsigned bits, u64 a, u64 b)",
    "{",
    "    return (long long)sx(bits, a) < (long long)sx(bits, b);",
    "}",
    "static inline int same(unsigned bits, u64 a, u64 b) { return zx(bits, a - b) == 0; }",
    "/* condition: as in the opcode of Jcc */",
    "static inline int holds(int condition, int carry, int overflow, unsigned bits, u64 result)",
    "{",
    "    int zero = zx(bits, result) == 0, sign = (result >> (bits - 1) & 1) != 0, met;",
    "    switch (condition >> 1) {",
    "    case 0: met = overflow; break;",
    "    case 1: met = carry; break;",
    "    case 2: met = zero; break;",
    "    case 3: met = carry || zero; break;",
    "    case 4: met = sign; break;",
    "    case 5: met = !__builtin_parity((u8)result); break;",
    "    case 6: met = sign != overflow; break;",
    "    default: met = zero || sign != overflow; break;",
    "    }",
    "    return met != (condition & 1);",
    "}",
    "static inline int sub_overflows(unsigned bits, u64 a, u64 b)",
    "{",
    "    return (((a ^ b) & (a ^ (a - b))) >> (bits - 1) & 1) != 0;",
    "}",
    "static inline int add_overflows(unsigned bits, u64 a, u64 b)",
    "{",
    "    return ((~(a ^ b) & (a ^ (a + b))) >> (bits - 1) & 1) != 0;",
    "}",
    "#define SUB(condition, bits, a, b) holds(condition, below(bits, a, b), sub_overflows(bits, a, "
    "b), bits, (a) - (b))",
    "#define ADD(condition, bits, a, b) holds(condition, below(bits, (a) + (b), a), "
    "add_overflows(bits, a, b), bits, (a) + (b))",
    "#define LOGIC(condition, bits, a) holds(condition, 0, 0, bits, a)",
    "#define INC(condition, bits, a, carry) holds(condition, carry, zx(bits, a) == 1ull << (bits - "
    "1), bits, a)",
    "#define DEC(condition, bits, a, carry) holds(condition, carry, zx(bits, a) == (1ull << (bits "
    "- 1)) - 1, bits, a)",
    NULL};
