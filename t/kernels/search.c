/* SPDX-License-Identifier: BSD-3-Clause
 * Finds words in a text: character by character, by the last character (Horspool), by the word's
 * own borders (Knuth, Morris, Pratt). SIZE: of the text. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

KEEP static long naive(const char *text, const char *word)
{
    long found = 0;
    for (; *text != '\0'; text++) {
        size_t k = 0;
        while (word[k] != '\0' && text[k] == word[k])
            k++;
        found += word[k] == '\0';
    }
    return found;
}

KEEP static long horspool(const unsigned char *text, long n, const unsigned char *word, long m)
{
    long skip[256], found = 0;
    for (int c = 0; c < 256; c++)
        skip[c] = m;
    for (long k = 0; k + 1 < m; k++)
        skip[word[k]] = m - 1 - k;
    for (long at = 0; at + m <= n; at += skip[text[at + m - 1]]) {
        long k = m;
        while (k > 0 && text[at + k - 1] == word[k - 1])
            k--;
        found += k == 0;
    }
    return found;
}

KEEP static long by_borders(const char *text, const char *word)
{
    int border[64] = {-1, 0}, m = (int)strlen(word), k = 0;
    long found = 0;
    for (int i = 1; i < m; border[++i] = k) {
        while (k >= 0 && word[k] != word[i])
            k = border[k];
        k++;
    }
    k = 0;
    for (; *text != '\0'; text++) {
        while (k >= 0 && word[k] != *text)
            k = border[k];
        k++;
        if (k == m) {
            found++;
            k = border[k];
        }
    }
    return found;
}

int main(int argc, char **argv)
{
    static const char *const words[] = {"abracadabra", "dab", "rabaca", "aaaa", "cadabrac"};
    long n = kernel_argument(argc, argv, 1, 100000, 100000000), sum = 0;
    long turns = kernel_argument(argc, argv, 2, 10, 1000000);
    uint32_t state = 77;
    char *text = calloc((size_t)n + 1, 1);
    for (long i = 0; i < n; i++)
        text[i] = "abracadr"[kernel_random(&state) % 8];
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            long m = (long)strlen(words[w]);
            sum += naive(text, words[w]) * 3;
            sum += horspool((const unsigned char *)text, n, (const unsigned char *)words[w], m) * 5;
            sum += by_borders(text, words[w]) * 7;
        }
    close_window();
    kernel_end(began, (double)sum);
    return 0;
}
