/* SPDX-License-Identifier: BSD-3-Clause
 * Tests t/tap.h: runs a program that fails on purpose and checks its output. */
#include "t/tap.h"

#include <libgen.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the path of the failing program, which is in the same folder. */
static const char *failing_path(void)
{
    static char path[4096];
    char self[4000];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return "";
    self[n] = '\0';
    (void)snprintf(path, sizeof path, "%s/tap_failing", dirname(self));
    return path;
}

int main(void)
{
    char text[8192] = "";
    FILE *f = popen(failing_path(), "r");
    if (!ok(f != NULL, "the failing program starts"))
        return done_testing();
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    int status = pclose(f);
    is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1,
           "a failed test makes the exit status 1");
    static const char *const expected[] = {
        "1..8\n",
        "not ok 1 - false\n",
        "not ok 2 - texts\n# got \"a\", want \"b\"\n",
        "not ok 3 - nothing\n# got \"(null)\", want \"b\"\n",
        "not ok 4 - numbers\n# got -1, want 1\n",
        "not ok 5 - large\n# got 18446744073709551615, want 0\n",
        "ok 6 - left out # SKIP because\n",
        "ok 7 - both NULL\n",
        "not ok 8 - planned 8 tests, ran 7\n",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ok(strstr(text, expected[i]) != NULL, "prints line %zu of what a failure shows", i + 1);
    return done_testing();
}
