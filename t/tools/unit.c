/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the JSON writer, lists of ranks, numbers, distances and the launcher's command, case by
 * case. */
#include "t/tap.h"

#include "tools/json.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stand-ins for the functions of main.c. */
const char *tool_version(void)
{
    return "test";
}
void help_print(FILE *out, const struct command *c)
{
    (void)fprintf(out, "help of %s\n", c->name);
}

static char *json_of_text(const char *text, bool in_html)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    struct json j = {.out = f, .in_html = in_html};
    json_object_begin(&j, NULL);
    json_text(&j, "k", text);
    json_object_end(&j);
    (void)fclose(f);
    return out;
}

static void test_json_texts(void)
{
    static const struct {
        const char *text, *want, *name;
    } cases[] = {
        {"plain", "{\"k\": \"plain\"}\n", "plain text"},
        {"a\"b\\c", "{\"k\": \"a\\\"b\\\\c\"}\n", "quote and backslash"},
        {"\n\t\r\x01\x1f\x7f", "{\"k\": \"\\n\\t\\u000d\\u0001\\u001f\\u007f\"}\n",
         "control characters"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "{\"k\": \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"}\n", "two, three and four bytes"},
        {"a\xff"
         "b",
         "{\"k\": \"a\\ufffdb\"}\n", "a byte that is never UTF-8"},
        {"\xc3", "{\"k\": \"\\ufffd\"}\n", "cut in a character"},
        {"\xe2\x82", "{\"k\": \"\\ufffd\\ufffd\"}\n", "cut after two of three bytes"},
        {"\xc0\x80", "{\"k\": \"\\ufffd\\ufffd\"}\n", "overlong"},
        {"\xe0\x80\x80", "{\"k\": \"\\ufffd\\ufffd\\ufffd\"}\n", "overlong of three"},
        {"\xed\xa0\x80", "{\"k\": \"\\ufffd\\ufffd\\ufffd\"}\n", "a surrogate"},
        {"\xf4\x90\x80\x80", "{\"k\": \"\\ufffd\\ufffd\\ufffd\\ufffd\"}\n", "beyond U+10FFFF"},
        {NULL, "{\"k\": null}\n", "no text"},
        {"", "{\"k\": \"\"}\n", "empty text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = json_of_text(cases[i].text, false);
        is_str(got, cases[i].want, cases[i].name);
        free(got);
    }
    char *got = json_of_text("a<b</script>", false);
    is_str(got, "{\"k\": \"a<b</script>\"}\n", "less than");
    free(got);
    got = json_of_text("a<b</script>", true);
    is_str(got, "{\"k\": \"a\\u003cb\\u003c/script>\"}\n", "less than, in an HTML element");
    free(got);
}

static void test_json_shape(void)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    struct json j = {.out = f};
    json_object_begin(&j, NULL);
    json_array_begin(&j, "empty");
    json_array_end(&j);
    json_array_begin(&j, "list");
    json_int(&j, NULL, -1);
    json_uint(&j, NULL, UINT64_MAX);
    json_real(&j, NULL, 0.5);
    json_real(&j, NULL, (double)__builtin_nan(""));
    json_bool(&j, NULL, true);
    json_hex(&j, NULL, 0xabc);
    json_object_begin(&j, NULL);
    json_object_end(&j);
    json_array_end(&j);
    json_uint_if(&j, "absent", false, 7);
    json_object_end(&j);
    (void)fclose(f);
    is_str(out,
           "{\"empty\": [], \"list\": [-1, 18446744073709551615, 0.5, null, true, \"0xabc\", {}], "
           "\"absent\": null}\n",
           "objects, arrays and numbers");
    free(out);
}

static void test_rank_lists(void)
{
    static const struct {
        const char *text;
        int rc;
        const char *error;
    } cases[] = {
        {"0", 0, ""},
        {"0-3,8", 0, ""},
        {"0-3+8", 0, ""},
        {"", -EINVAL, "column 1"},
        {"a", -EINVAL, "column 1"},
        {"0,", -EINVAL, "column 3"},
        {"3-1", -EINVAL, "column 3"},
        {"1-", -EINVAL, "column 3"},
        {"1 2", -EINVAL, "column 2"},
        {"-1", -EINVAL, "column 1"},
        {"99999999999", -EINVAL, "column 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_list l;
        struct rt_error e = {{0}};
        int rc = rank_list_parse(&l, cases[i].text, &e);
        ok(rc == cases[i].rc && strstr(e.text, cases[i].error) != NULL, "list of ranks \"%s\"",
           cases[i].text);
    }
    struct rank_list l;
    ok(rank_list_parse(&l, "0-3,8", NULL) == 0 && rank_list_has(&l, 0) && rank_list_has(&l, 3) &&
           rank_list_has(&l, 8) && !rank_list_has(&l, 4) && !rank_list_has(&l, 9) &&
           !rank_list_has(&l, -1),
       "0-3,8 holds 0, 3 and 8, and not -1, 4 and 9");
    l = (struct rank_list){0};
    ok(rank_list_has(&l, 12345), "the empty list holds every rank");
    char many[65 * 2 + 1] = "0";
    for (int i = 1; i < 65; i++)
        (void)strcat(many, ",0");
    ok(rank_list_parse(&l, many, NULL) == -EINVAL, "more pieces than there is room for");
}

static void test_numbers(void)
{
    uint64_t v = 0;
    ok(argument_number("17", 0, 100, &v) == 0 && v == 17, "17");
    static const char *const wrong[] = {
        "", "-1", "+1", " 1", "1x", "101", "18446744073709551616", "0x10"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(argument_number(wrong[i], 0, 100, &v) == -EINVAL, "\"%s\" is no number from 0 to 100",
           wrong[i]);
    is_int((long)text_distance("contrl", "control"), 1, "one letter is missing");
    is_int((long)text_distance("", "abc"), 3, "all letters are missing");
    is_int((long)text_distance("abc", "abc"), 0, "the same");
}

static char *joined(char **words)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    for (; words != NULL && *words != NULL; words++)
        (void)fprintf(f, "%s|", *words);
    (void)fclose(f);
    return out;
}

static void test_launchers(void)
{
    static const char *const names[] = {"REGTRACE_DIR", NULL};
    char *plain[] = {"mpirun", "-np", "2", "./a", ":", "-np", "1", "./b"};
    char **command = launcher_command(LAUNCHER_OPENMPI, 8, plain, "/l.so", names);
    char *text = joined(command);
    is_str(text,
           "mpirun|-x|LD_PRELOAD=/l.so|-x|REGTRACE_DIR|-np|2|./a|:|-x|LD_PRELOAD=/"
           "l.so|-x|REGTRACE_DIR|-np|1|./b|",
           "Open MPI: -x after the name and after each colon");
    free(text);
    free(command[2]); /* the same string after each colon */
    free(command);
    char *own[] = {"mpirun", "-x", "LD_PRELOAD=/other.so", "./a"};
    command = launcher_command(LAUNCHER_OPENMPI, 4, own, "/l.so", names);
    text = joined(command);
    is_str(text, "mpirun|-x|REGTRACE_DIR|-x|LD_PRELOAD=/l.so:/other.so|./a|",
           "the user's own LD_PRELOAD stays after ours");
    free(text);
    free(own[2]); /* the assignment that replaced it */
    free(command);
    command = launcher_command(LAUNCHER_HYDRA, 8, plain, "/l.so", names);
    text = joined(command);
    is_str(text, "mpirun|-genv|LD_PRELOAD|/l.so|-np|2|./a|:|-np|1|./b|",
           "hydra: LD_PRELOAD for the ranks alone, all else is inherited");
    free(command[3]);
    free(text);
    free(command);
}

static void test_program_after_launcher(void)
{
    static const struct {
        enum launcher_kind kind;
        int want;
        const char *words[10];
    } cases[] = {
        {LAUNCHER_OPENMPI, 3, {"mpirun", "-np", "4", "./app", "-x"}},
        {LAUNCHER_OPENMPI,
         8,
         {"mpirun", "--oversubscribe", "--mca", "btl", "^openib", "-n", "2", "--", "./app"}},
        {LAUNCHER_OPENMPI, 5, {"mpirun", "-x", "A=1", "--host", "localhost", "./app"}},
        {LAUNCHER_OPENMPI, 1, {"mpirun", "./app"}},
        {LAUNCHER_OPENMPI, 0, {"mpirun", "-np", "4"}},
        {LAUNCHER_HYDRA, 6, {"mpiexec", "-genv", "A", "1", "-n", "2", "./app"}},
        {LAUNCHER_OTHER, 3, {"srun", "-n", "4", "./app"}},
        {LAUNCHER_OTHER, 3, {"srun", "-n4", "--exclusive", "./app"}},
        {LAUNCHER_OTHER, 4, {"flux", "run", "-n", "4", "./app"}},
        {LAUNCHER_NONE, 0, {"./app", "x"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *words[11] = {NULL};
        int n = 0;
        while (n < 10 && cases[i].words[n] != NULL) {
            words[n] = (char *)(uintptr_t)cases[i].words[n];
            n++;
        }
        int got = launcher_find_program(cases[i].kind, n, words);
        ok(got == cases[i].want, "where the program stands, case %zu: %d", i, got);
    }
    char *mpmd[] = {"mpirun", "-np", "4", "./a", ":", "-n", "3", "./b"};
    is_int((long)launcher_ranks(8, mpmd), 7, "ranks of two contexts");
}

int main(void)
{
    test_json_texts();
    test_json_shape();
    test_rank_lists();
    test_numbers();
    test_launchers();
    test_program_after_launcher();
    return done_testing();
}
