/* SPDX-License-Identifier: BSD-3-Clause
 * Vector instructions that access only some elements of an operand: gathers, scatters and masks
 * with random operands; and strings compared by rep. Scalar code beside each says which elements
 * these are: lines "NAME KIND BYTES OFFSET" to MEMORY_LOG, after a line with the address of
 * `middle`, to which offsets are relative. Argument: TURNS. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))
#define AVX2 APART __attribute__((target("avx2")))
#define AVX512 APART __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

enum { ROOM = 4096, MIDDLE = ROOM / 2 };

static _Alignas(64) uint8_t room[ROOM];
static uint8_t *const middle = room + MIDDLE;
static FILE *log_file;
static uint64_t seed = 1, sum;

static uint64_t draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return seed >> 33;
}

/* Logs an access that an instruction is about to make. */
static void expect(const char *name, char kind, unsigned bytes, int64_t offset)
{
    if (log_file != NULL)
        fprintf(log_file, "%s %c %u %ld\n", name, kind, bytes, (long)offset);
}

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

static void draw_32(int32_t *out, int count, int most)
{
    for (int i = 0; i < count; i++)
        out[i] = (int32_t)(draw() % (unsigned)(2 * most)) - most;
}

static void draw_64(int64_t *out, int count, int most)
{
    for (int i = 0; i < count; i++)
        out[i] = (int64_t)(draw() % (unsigned)(2 * most)) - most;
}

/* --- AVX2 ------------------------------------------------------------------------------------- */

AVX2 void run_gathers(const int32_t *index, const int64_t *wide, const int32_t *mask,
                      const int64_t *wide_mask)
{
    __m256i i = _mm256_loadu_si256((const void *)index), m = _mm256_loadu_si256((const void *)mask);
    __m256i w = _mm256_loadu_si256((const void *)wide),
            wm = _mm256_loadu_si256((const void *)wide_mask);
    __m256i a = _mm256_mask_i32gather_epi32(i, (const int *)(const void *)middle, i, m, 4);
    __m256d b = _mm256_mask_i32gather_pd(_mm256_setzero_pd(), (const double *)(const void *)middle,
                                         _mm256_castsi256_si128(i), _mm256_castsi256_pd(wm), 8);
    __m128 c = _mm256_mask_i64gather_ps(_mm_setzero_ps(), (const float *)(const void *)(middle + 8),
                                        w, _mm_castsi128_ps(_mm256_castsi256_si128(m)), 2);
    __m128i d = _mm_mask_i64gather_epi64(_mm_setzero_si128(), (const void *)middle,
                                         _mm256_castsi256_si128(w), _mm256_castsi256_si128(wm), 1);
    sum += (uint64_t)_mm256_extract_epi32(a, 3) + (uint64_t)b[1] + (uint64_t)c[2] + (uint64_t)d[0];
}

AVX2 void run_masked(const int32_t *mask, const int64_t *wide_mask)
{
    __m256i m = _mm256_loadu_si256((const void *)mask),
            wm = _mm256_loadu_si256((const void *)wide_mask);
    __m256i a = _mm256_maskload_epi32((const int *)(const void *)(middle + 4), m);
    __m128d b =
        _mm_maskload_pd((const double *)(const void *)(middle + 64), _mm256_castsi256_si128(wm));
    _mm256_maskstore_epi64((long long *)(void *)(middle + 128), wm, a);
    _mm_maskstore_ps((float *)(void *)(middle + 256), _mm256_castsi256_si128(m), _mm_castpd_ps(b));
    sum += (uint64_t)_mm256_extract_epi32(a, 5) + (uint64_t)b[0];
}

static void avx2(void)
{
    int32_t index[8], mask[8];
    int64_t wide[4], wide_mask[4];
    draw_32(index, 8, 180);
    draw_64(wide, 4, 180);
    draw_32(mask, 8, 1 << 20);
    draw_64(wide_mask, 4, 1 << 20);
    for (int i = 0; i < 8; i++)
        if (mask[i] < 0)
            expect("vpgatherdd", 'R', 4, index[i] * 4);
    for (int i = 0; i < 4; i++)
        if (wide_mask[i] < 0)
            expect("vgatherdpd", 'R', 8, index[i] * 8);
    for (int i = 0; i < 4; i++)
        if (mask[i] < 0)
            expect("vgatherqps", 'R', 4, 8 + wide[i] * 2);
    for (int i = 0; i < 2; i++)
        if (wide_mask[i] < 0)
            expect("vpgatherqq", 'R', 8, wide[i]);
    run_gathers(index, wide, mask, wide_mask);
    for (int i = 0; i < 8; i++)
        if (mask[i] < 0)
            expect("vpmaskmovd", 'R', 4, 4 + i * 4);
    for (int i = 0; i < 2; i++)
        if (wide_mask[i] < 0)
            expect("vmaskmovpd", 'R', 8, 64 + i * 8);
    for (int i = 0; i < 4; i++)
        if (wide_mask[i] < 0)
            expect("vpmaskmovq", 'W', 8, 128 + i * 8);
    for (int i = 0; i < 4; i++)
        if (mask[i] < 0)
            expect("vmaskmovps", 'W', 4, 256 + i * 4);
    run_masked(mask, wide_mask);
}

/* --- AVX-512 ---------------------------------------------------------------------------------- */

AVX512 void run_wide(const int32_t *index, const int64_t *wide, uint64_t k)
{
    __m512i i = _mm512_loadu_si512(index), w = _mm512_loadu_si512(wide);
    __m512i a = _mm512_mask_i32gather_epi32(i, (__mmask16)k, i, (const void *)middle, 4);
    __m512d b = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), (__mmask8)(k >> 3),
                                         _mm512_castsi512_si256(i), (const void *)middle, 8);
    __m256 c = _mm512_mask_i64gather_ps(_mm256_setzero_ps(), (__mmask8)(k >> 5), w,
                                        (const void *)(middle + 16), 4);
    _mm512_mask_i32scatter_epi32((void *)middle, (__mmask16)(k >> 7), i, a, 4);
    _mm512_mask_i64scatter_pd((void *)middle, (__mmask8)(k >> 9), w, b, 8);
    sum += (uint64_t)_mm512_reduce_add_epi32(a) + (uint64_t)c[3];
}

/* Uses registers that VEX cannot name. */
AVX512 void run_high(const int64_t *wide, uint64_t k)
{
    __asm__ volatile("vmovdqu64 (%0), %%ymm19\n"
                     "	kmovq %2, %%k5\n"
                     "	vpgatherqq 24(%1,%%ymm19,8), %%ymm23%{%%k5%}\n"
                     :
                     : "r"(wide), "r"(middle), "r"(k)
                     : "memory", "xmm19", "xmm23", "k5");
}

AVX512 void run_mask_registers(uint64_t k)
{
    __m512i a = _mm512_maskz_loadu_epi8(k, middle + 3);
    __m512d b = _mm512_maskz_expandloadu_pd((__mmask8)(k >> 8), middle + 128);
    __m256i c = _mm256_maskz_loadu_epi16((__mmask16)(k >> 16), middle + 200);
    _mm512_mask_compressstoreu_epi32(middle + 256, (__mmask16)(k >> 24), a);
    _mm512_mask_storeu_pd(middle + 512, (__mmask8)(k >> 40), b);
    _mm512_mask_cvtepi64_storeu_epi16(middle + 640, (__mmask8)(k >> 48), a);
    __asm__ volatile("kmovq %0, %%k3\n"
                     "	vaddpd 768(%1)%{1to8%}, %%zmm4, %%zmm5%{%%k3%}\n"
                     "	vaddsd 896(%1), %%xmm4, %%xmm5%{%%k3%}\n"
                     :
                     : "r"(k >> 52), "r"(middle)
                     : "xmm5", "k3");
    sum += (uint64_t)_mm256_extract_epi16(c, 3);
}

static void avx512(void)
{
    int32_t index[16];
    int64_t wide[8];
    uint64_t k = draw() << 40 ^ draw() << 20 ^ draw();
    draw_32(index, 16, 180);
    draw_64(wide, 8, 180);
#define EACH(count, shift)                                                                         \
    for (int i = 0; i < (count); i++)                                                              \
        if (((k >> (shift)) >> i & 1) != 0)
    EACH(16, 0) expect("vpgatherdd zmm", 'R', 4, index[i] * 4);
    EACH(8, 3) expect("vgatherdpd zmm", 'R', 8, index[i] * 8);
    EACH(8, 5) expect("vgatherqps zmm", 'R', 4, 16 + wide[i] * 4);
    EACH(16, 7) expect("vpscatterdd zmm", 'W', 4, index[i] * 4);
    EACH(8, 9) expect("vscatterqpd zmm", 'W', 8, wide[i] * 8);
    run_wide(index, wide, k);
    EACH(4, 0) expect("vpgatherqq ymm19", 'R', 8, 24 + wide[i] * 8);
    run_high(wide, k);
    EACH(64, 0) expect("vmovdqu8", 'R', 1, 3 + i);
    for (int i = 0, n = 0; i < 8; i++)
        if ((k >> 8 >> i & 1) != 0)
            expect("vexpandpd", 'R', 8, 128 + n++ * 8);
    EACH(16, 16) expect("vmovdqu16", 'R', 2, 200 + i * 2);
    for (int i = 0, n = 0; i < 16; i++)
        if ((k >> 24 >> i & 1) != 0)
            expect("vpcompressd", 'W', 4, 256 + n++ * 4);
    EACH(8, 40) expect("vmovupd", 'W', 8, 512 + i * 8);
    EACH(8, 48) expect("vpmovqw", 'W', 2, 640 + i * 2);
    if ((k >> 52 & 0xff) != 0)
        expect("vaddpd 1to8", 'R', 8, 768);
    EACH(1, 52) expect("vaddsd", 'R', 8, 896);
    run_mask_registers(k);
}

/* --- any processor ---------------------------------------------------------------------------- */

APART void run_bytes(const uint8_t *mask)
{
    __m128i m = _mm_loadu_si128((const void *)mask);
    _mm_maskmoveu_si128(_mm_set1_epi8(7), m, (char *)(middle + 1024));
}

APART void run_bits(int64_t bit)
{
    __asm__ volatile("btsl %k1, (%0)\n	btq %1, 8(%0)\n	btw %w1, 2(%0)"
                     :
                     : "r"(middle + 1280), "r"(bit)
                     : "memory", "cc");
}

APART void run_compare(const uint8_t *a, const uint8_t *b, uint64_t count)
{
    __asm__ volatile("cmp %%rax, %%rax\n	repe cmpsb"
                     : "+S"(a), "+D"(b), "+c"(count)
                     :
                     : "memory", "cc");
    sum += count;
}

APART void run_scan(const uint8_t *a, uint64_t count, uint8_t what)
{
    __asm__ volatile("test %%rsp, %%rsp\n	repne scasb"
                     : "+D"(a), "+c"(count)
                     : "a"(what)
                     : "memory", "cc");
    sum += count;
}

static void plain(void)
{
    uint8_t mask[16];
    int64_t bit = (int64_t)(draw() % 1024) - 512;
    for (int i = 0; i < 16; i++) {
        mask[i] = (uint8_t)draw();
        if (mask[i] >= 128)
            expect("maskmovdqu", 'W', 1, 1024 + i);
    }
    run_bytes(mask);
    expect("bts", 'M', 4, 1280 + (bit >> 5) * 4);
    expect("btq", 'R', 8, 1288 + (bit >> 6) * 8);
    expect("btw", 'R', 2, 1282 + ((int16_t)bit >> 4) * 2);
    run_bits(bit);
    uint64_t count = draw() % 40, same = draw() % 40;
    memset(middle + 1536, 1, 128);
    middle[1536 + same] = 2;
    for (uint64_t i = 0; i < count && i <= same; i++) {
        expect("cmpsb", 'R', 1, 1536 + (int64_t)i);
        expect("cmpsb", 'R', 1, 1600 + (int64_t)i);
    }
    run_compare(middle + 1536, middle + 1600, count);
    for (uint64_t i = 0; i < count && i <= same; i++)
        expect("scasb", 'R', 1, 1536 + (int64_t)i);
    run_scan(middle + 1536, count, 2);
}

int main(int argc, char **argv)
{
    const char *path = getenv("MEMORY_LOG");
    long turns = argc > 1 ? atol(argv[1]) : 10;
    bool has_avx2 = __builtin_cpu_supports("avx2") != 0,
         has_avx512 =
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    log_file = path != NULL ? fopen(path, "w") : NULL;
    if (log_file != NULL)
        fprintf(log_file, "middle %lx\n", (unsigned long)(uintptr_t)middle);
    open_window();
    for (long t = 0; t < turns; t++) {
        plain();
        if (has_avx2)
            avx2();
        if (has_avx512)
            avx512();
    }
    close_window();
    for (int i = 0; i < ROOM; i++)
        sum = sum * 31 + room[i];
    printf("%lx\n", (unsigned long)sum);
    fprintf(stderr, "%s\n", has_avx512 ? "avx512" : has_avx2 ? "avx2" : "sse");
    return log_file != NULL && fclose(log_file) != 0;
}
