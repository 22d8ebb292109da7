/* SPDX-License-Identifier: BSD-3-Clause
 * Tests that late lines come before the first line that is later than they are, whatever lies
 * between: short lines and long ones, many and none. */
#include "t/tap.h"
#include "tools/paraver/prv.h"

#include <unistd.h>

enum { LATE = 500, TRACE = 8 << 20 };

static char trace[TRACE], want[TRACE], got[TRACE], path[4096];
static int64_t late[LATE];
static unsigned seed;

static unsigned chance(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % below;
}

static void late_line(void *context, size_t i, char line[256])
{
    (void)context;
    (void)snprintf(line, 256, "3:0:1:1:1:%" PRId64 ":message %zu\n", late[i], i);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t add(char *to, size_t at, const char *text)
{
    size_t n = strlen(text);
    memcpy(to + at, text, n + 1);
    return at + n;
}

/* Makes a trace, and what it must be with its late lines, one line after the other by the rule. */
static void make(unsigned lines, unsigned longest, size_t n)
{
    static char line[200000];
    size_t i = 0, a = add(trace, 0, "#Paraver (1:2:3):4:5:6:7\n");
    size_t b = add(want, 0, trace);
    for (size_t k = 0; k < n; k++)
        late[k] = chance(2 * lines + 3);
    qsort(late, n, sizeof *late, by_value);
    for (unsigned k = 0, time = 0; k < lines; k++) {
        char text[256];
        time += chance(3);
        int at = snprintf(line, sizeof line, "%u:0:1:1:1:%u:", 1 + chance(2), time);
        unsigned more = k % 1000 == 77 ? longest : 1 + chance(40);
        memset(line + at, 'x', more);
        (void)snprintf(line + at + more, sizeof line - (size_t)at - more, "\n");
        for (; i < n && late[i] < (int64_t)time; i++) {
            late_line(NULL, i, text);
            b = add(want, b, text);
        }
        a = add(trace, a, line);
        b = add(want, b, line);
    }
    for (; i < n; i++) {
        char text[256];
        late_line(NULL, i, text);
        b = add(want, b, text);
    }
}

static void judge(unsigned lines, unsigned longest, size_t n)
{
    struct rt_error e;
    make(lines, longest, n);
    FILE *f = fopen(path, "we");
    bool good = f != NULL && fputs(trace, f) >= 0;
    good = f != NULL && fclose(f) == 0 && good;
    good = good && prv_merge_late(path, n, late_line, NULL, &e) == 0;
    f = good ? fopen(path, "re") : NULL;
    size_t bytes = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    got[bytes] = '\0';
    if (f != NULL)
        (void)fclose(f);
    ok(good && strcmp(got, want) == 0, "%u lines, one of %u bytes, %zu late ones", lines, longest,
       n);
}

int main(void)
{
    static const unsigned lines[] = {0, 1, 2, 3000, 20000}, longest[] = {20, 60000, 150000};
    static const size_t many[] = {1, 7, LATE};
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/regtrace-late-%d", tmp != NULL ? tmp : "/tmp",
                   (int)getpid());
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 3; k++)
            for (size_t m = 0; m < 3; m++)
                judge(lines[i], longest[k], many[m]);
    (void)unlink(path);
    return done_testing();
}
