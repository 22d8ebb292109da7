/* SPDX-License-Identifier: BSD-3-Clause
 * Captured values, from the stream to the rank file: exact counts while the lists have room, then
 * bounded memory; plug-ins and writers that die. A copy of this program is the vprofiler. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "t/writer/value_records.h"
#include "writer/values/value_lists.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- stand-in: a tuple for each value, or what the plug-in's name says ------------------------ */

static void answer(uint32_t kind, const void *data, size_t bytes)
{
    struct values_frame f = {.kind = kind, .bytes = (uint32_t)bytes};
    if (send(0, &f, sizeof f, MSG_NOSIGNAL) < 0)
        _exit(3);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = send(0, (const char *)data + at, bytes - at, MSG_NOSIGNAL);
        if (n <= 0)
            _exit(3);
        at += (size_t)n;
    }
}

static size_t tuples_of(const char *trace, size_t bytes, struct values_tuple *out)
{
    size_t n = 0;
    for (size_t at = 0; at + sizeof(struct values_entry) <= bytes;) {
        struct values_entry e;
        memcpy(&e, trace + at, sizeof e);
        at += sizeof e;
        for (uint32_t i = 0; i < e.count; i++, at += 8) {
            out[n] = (struct values_tuple){.pc = e.pc, .context = {e.context[0], e.context[1]}};
            memcpy(&out[n++].value, trace + at, 8);
        }
    }
    return n;
}

static int stand_in(const char *plugin)
{
    static char trace[VALUES_FRAME_MOST];
    static struct values_tuple tuples[VALUES_FRAME_MOST / 8];
    struct values_frame f;
    for (unsigned frame = 0; recv(0, &f, sizeof f, MSG_WAITALL) == (ssize_t)sizeof f; frame++) {
        if (f.kind != VALUES_TRACE || f.bytes > sizeof trace ||
            recv(0, trace, f.bytes, MSG_WAITALL) != (ssize_t)f.bytes)
            return 4;
        if (strcmp(plugin, "crash") == 0) {
            /* a sanitizer's handler would end the process in another way */
            (void)signal(SIGSEGV, SIG_DFL);
            (void)raise(SIGSEGV);
        }
        while (strcmp(plugin, "hang") == 0)
            (void)pause();
        size_t n = tuples_of(trace, f.bytes, tuples);
        for (size_t i = 0; strcmp(plugin, "strange") == 0 && i < n; i += 2)
            tuples[i].pc++;
        if (strcmp(plugin, "garbage") == 0)
            answer(77, "?", 1);
        else if (strcmp(plugin, "failed") == 0)
            answer(VALUES_FAILED, "the plug-in says no", 19);
        else
            answer(VALUES_TUPLES, tuples, n * sizeof *tuples);
    }
    return 0;
}

/* --- fixture ---------------------------------------------------------------------------------- */

static char programs[] = "/tmp/regtrace-values-XXXXXX";

static bool copy(const char *from, const char *name)
{
    char to[PATH_MAX], block[65536];
    ssize_t n = 0;
    (void)snprintf(to, sizeof to, "%s/%s", programs, name);
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    while (in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0)
        if (write(out, block, (size_t)n) != n)
            n = -1;
    if (in >= 0)
        (void)close(in);
    return out >= 0 && close(out) == 0 && n == 0;
}

static void remove_programs(void)
{
    static const char *const names[] = {"regtrace-writer", "regtrace-vprofiler"};
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", programs, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(programs);
}

static const struct rt_value_thread *only_thread(struct rt_rank *rank)
{
    static const struct rt_value_thread none;
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    return t->value_thread_count == 1 ? t->value_threads : &none;
}

static const struct rt_value_instruction *instruction(struct rt_rank *rank, uint32_t number)
{
    static const struct rt_value_instruction none;
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->value_instruction_count; i++)
        if (t->value_instructions[i].number == number)
            return &t->value_instructions[i];
    return &none;
}

/* Returns the count of a value in the list, 0 if it is not there. */
static uint64_t count_of(struct rt_rank *rank, uint32_t number, uint64_t c0, uint64_t value)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint64_t found = 0;
    for (size_t i = 0; i < t->value_hot_count; i++)
        if (t->value_hot[i].number == number && t->value_hot[i].context0 == c0 &&
            t->value_hot[i].value == value)
            found += t->value_hot[i].count;
    return found;
}

static uint64_t entries_of(struct rt_rank *rank, uint32_t number)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint64_t n = 0;
    for (size_t i = 0; i < t->value_hot_count; i++)
        n += t->value_hot[i].number == number;
    return n;
}

/* Recovers with a copy of this program: recover finds regtrace-vprofiler beside itself. */
static int recover_elsewhere(const char *dir)
{
    char program[PATH_MAX];
    (void)snprintf(program, sizeof program, "%s/regtrace-vprofiler", programs);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl(program, program, "--recover", dir, (char *)NULL);
        _exit(127);
    }
    return fixture_wait(pid);
}

static void run_whole(struct fixture *f, const char *plugin,
                      void (*body)(struct fixture *f, struct producer *p))
{
    static const char *meta[3];
    meta[0] = plugin != NULL ? "values" : NULL;
    meta[1] = plugin;
    fixture_begin(f);
    f->meta = meta;
    pid_t pid = fixture_run(f, body);
    ok(fixture_wait(pid) == 0, "%s: the process ends as it would",
       plugin != NULL ? plugin : "no plug-in");
    ok(fixture_wait_all(60 * slowdown()), "and its writer does");
}

/* --- exact counts ----------------------------------------------------------------------------- */

enum { SAMPLES = 20000, BASE = 0x400000 };

static void known_values(struct fixture *f, struct producer *p)
{
    (void)f;
    uint64_t more[3] = {stream_string_id(&recorder_stream, "0badcafe"), 0, 0};
    struct values_captured c[3] = {
        {.number = 1, .has_context = true, .count = 1},
        {.number = 2, .has_context = true, .count = 2},
        {.number = 3, .has_context = true, .count = 0},
    };
    (void)recorder_emit_long(&recorder_self, EV_IMAGE,
                             stream_string_id(&recorder_stream, "/bin/kernel"), BASE, more, 1);
    (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, 1);
    put_code(1, BASE + 0x10, "\x48\x8b\x07", 3);
    put_code(2, BASE + 0x13, "\x90", 1);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        c[0].context[0] = c[1].context[0] = i % 2;
        c[0].values[0] = i % 4 != 0 ? 7 : i % 5;
        c[1].values[0] = i % 3;
        c[1].values[1] = UINT64_MAX - i % 3;
        put_sample(c, i % 10 == 0 ? 3 : 2, 4);
    }
    /* The code comes late, as from a thread whose chunk comes later. */
    put_code(3, BASE + 0x14, "\xc3", 1);
    for (uint64_t why = 0; why < VALUES_NONES; why++)
        for (uint64_t i = 0; i <= why; i++)
            (void)recorder_emit(&recorder_self, EV_VALUES_NONE,
                                why | (why == VALUES_SKIPPED ? UINT64_C(3) : UINT64_C(1)) << 32,
                                0x1234);
    put_sample(c, 0, 1);
    struct values_captured large[VALUES_FOLLOW_MOST];
    for (unsigned i = 0; i < VALUES_FOLLOW_MOST; i++) {
        large[i] = (struct values_captured){.number = 2, .count = VALUES_MOST};
        for (unsigned k = 0; k < VALUES_MOST; k++)
            large[i].values[k] = 0x8000000000000000u + k;
    }
    put_sample(large, VALUES_FOLLOW_MOST, 1);
    /* The end of a sample whose beginning is missing, and an instruction whose code is never
     * recorded. */
    (void)recorder_emit(&recorder_self, EV_VALUES, 2 | VALUES_LAST, 0x0101);
    put_value(99, 1);
    (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, 2);
    (void)producer_finish(p, STREAM_FINISHED);
}

static void test_exact(void)
{
    struct fixture f;
    run_whole(&f, "each", known_values);
    struct rt_rank *rank = fixture_open(&f);
    struct rt_error e;
    struct rt_event *rows = NULL;
    size_t count = 0;
    bool good = rt_rank_load_events(rank, &rows, &count, &e) == 0;
    uint64_t values = 0;
    for (size_t i = 0; i < count; i++)
        values += EVENT_MODEL(rows[i].code) == 'P';
    ok(good && count == 3 && values == 0, "events are the others alone (%zu)", count);
    free(rows);
    uint64_t pieces;
    ok(rt_rank_pieces(rank, &pieces) == 1 && pieces == 3, "pieces are of them");
    const struct rt_value_thread *t = only_thread(rank);
    ok(t->samples == SAMPLES + 2 && t->captured == 2 * SAMPLES + SAMPLES / 10 + 64,
       "samples and instructions in them (%" PRIu64 ", %" PRIu64 ")", t->samples, t->captured);
    ok(t->unknown == 1 && t->unlearned == 2 && t->not_run == 3 && t->busy == 4 && t->skipped == 15,
       "samples without values, by reason");
    ok(t->damaged == 2 && t->unprocessed == 0 && t->strange == 0, "damaged ones are counted");
    ok(rt_rank_tables(rank)->thread_count == 1 &&
           rt_rank_tables(rank)->threads[0].recorded == count + t->records,
       "all that the thread handed over has arrived");
    const struct rt_value_instruction *i1 = instruction(rank, 1), *i2 = instruction(rank, 2);
    ok(i1->samples == SAMPLES && i1->periods == 4 * SAMPLES && i1->values == SAMPLES &&
           i1->threshold == 1,
       "an instruction's samples, periods and values");
    ok(i1->address == BASE + 0x10 && i1->offset == 0x10 && i1->length == 3 &&
           strcmp(i1->code, "488b07") == 0,
       "its address and code");
    ok(strcmp(rt_rank_string(rank, i1->image), "/bin/kernel") == 0 &&
           strcmp(rt_rank_string(rank, i1->build_id), "0badcafe") == 0,
       "its image");
    uint64_t sevens = count_of(rank, 1, 0, 7) + count_of(rank, 1, 1, 7);
    ok(sevens == SAMPLES * 3 / 4, "7 in three of four (%" PRIu64 ")", sevens);
    ok(count_of(rank, 1, 1, 7) == SAMPLES / 2, "by context");
    ok(entries_of(rank, 1) == 2 + 5 && count_of(rank, 1, 0, 3) == SAMPLES / 20,
       "and the others, each once (%" PRIu64 ")", entries_of(rank, 1));
    ok(count_of(rank, 2, 0, 0x8000000000000003) == 64 && i2->values == 2 * SAMPLES + 64 * 7,
       "a sample in many records");
    ok(instruction(rank, 3)->samples == SAMPLES / 10 && instruction(rank, 3)->values == 0 &&
           instruction(rank, 3)->threshold == 0,
       "an instruction without values, told of after its samples");
    rt_rank_close(rank);
    fixture_end(&f);
}

/* --- many values ------------------------------------------------------------------------------ */

enum { MANY = 1000000 };

static void many_values(struct fixture *f, struct producer *p)
{
    (void)f;
    struct values_captured c[16];
    put_code(1, 0x1000, "\x90", 1);
    put_code(2, 0x1001, "\x90", 1);
    for (uint64_t i = 0; i < MANY; i += 16) {
        for (unsigned k = 0; k < 16; k++) {
            c[k] = (struct values_captured){.number = 1, .count = 1};
            c[k].values[0] = i + k;
        }
        c[15].number = 2;
        put_sample(c, 16, 1);
    }
    (void)producer_finish(p, STREAM_FINISHED);
}

static void test_many(void)
{
    struct fixture f;
    run_whole(&f, "each", many_values);
    struct rt_rank *rank = fixture_open(&f);
    const struct rt_value_instruction *i1 = instruction(rank, 1), *i2 = instruction(rank, 2);
    ok(i1->values == MANY / 16 * 15 && i2->values == MANY / 16, "a million values, all counted");
    ok(entries_of(rank, 1) <= VALUE_LIST_MOST && entries_of(rank, 2) <= VALUE_LIST_MOST &&
           entries_of(rank, 1) > 0,
       "their lists are short");
    ok(i1->threshold > 1000 && i1->threshold < MANY && i2->threshold < i1->threshold,
       "and say one in how many they hold (%.0f, %.0f)", i1->threshold, i2->threshold);
    rt_rank_close(rank);
    fixture_end(&f);
}

/* --- plug-ins that fail ----------------------------------------------------------------------- */

static void some_values(struct fixture *f, struct producer *p)
{
    (void)f;
    put_code(1, 0x1000, "\x90", 1);
    (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, 1);
    for (uint64_t i = 0; i < 100; i++)
        put_value(1, i % 4);
    (void)producer_finish(p, STREAM_FINISHED);
}

static void test_failing(void)
{
    static const struct {
        const char *plugin, *why;
    } cases[] = {
        {"crash", "ended by signal 11"},
        {"garbage", "not understood"},
        {"failed", "the plug-in says no"},
        {"hang", "gives no answer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        run_whole(&f, cases[i].plugin, some_values);
        struct rt_rank *rank = fixture_open(&f);
        const struct rt_value_thread *t = only_thread(rank);
        const char *why = rt_rank_metadata(rank, "values.failed");
        char *log = fixture_log(&f);
        ok(t->samples == 100 && t->unprocessed == 100 && instruction(rank, 1)->samples == 100 &&
               entries_of(rank, 1) == 0,
           "what it did not process is counted");
        ok(why != NULL && strstr(why, cases[i].why) != NULL, "the file says why: %s",
           why != NULL ? why : "-");
        ok(strstr(log, cases[i].why) != NULL && strstr(log, cases[i].plugin) != NULL,
           "so does the log");
        ok(rt_rank_info(rank)->event_count == 1, "and the events are there");
        free(log);
        rt_rank_close(rank);
        fixture_end(&f);
    }
    struct fixture f;
    run_whole(&f, "strange", some_values);
    struct rt_rank *rank = fixture_open(&f);
    ok(only_thread(rank)->strange == 50 && instruction(rank, 1)->values == 50,
       "tuples about what was not captured are counted");
    rt_rank_close(rank);
    fixture_end(&f);
    run_whole(&f, NULL, some_values);
    rank = fixture_open(&f);
    ok(rt_rank_info(rank)->event_count == 102 && rt_rank_tables(rank)->value_threads == NULL,
       "without a plug-in they are events as others");
    rt_rank_close(rank);
    fixture_end(&f);
}

/* --- killed writer ---------------------------------------------------------------------------- */

enum { LONG_SAMPLES = 16000 };

/* Emits some 500 KiB in 2 s, to a stream of 4 MiB: a snapshot has each chunk that is returned. */
static void slow_values(struct fixture *f, struct producer *p)
{
    (void)p;
    put_code(1, 0x1000, "\x90", 1);
    (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, 1);
    for (uint64_t i = 0; i < LONG_SAMPLES; i++) {
        put_value(1, i % 16);
        if (i % 1000 == 0)
            (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, i);
        atomic_store(&f->shared->emitted[0], i + 1);
        if (i % 80 == 0)
            fixture_sleep_ms(10);
    }
    atomic_store(&f->shared->seen[0], 1);
    for (;;)
        (void)pause();
}

static void test_killed(long ms, const char *plugin, bool processed)
{
    struct fixture f;
    static const char *meta[3] = {"values"};
    meta[1] = plugin;
    fixture_begin(&f);
    f.meta = meta;
    f.geometry = (struct stream_geometry){.chunk_bytes = 4096, .pool_bytes = 4u << 20};
    pid_t pid = fixture_run(&f, slow_values);
    while (atomic_load(&f.shared->emitted[0]) == 0)
        fixture_sleep_ms(1);
    fixture_sleep_ms(ms);
    (void)kill(atomic_load(&f.shared->writer), SIGKILL);
    fixture_sleep_ms(50);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    ok(fixture_wait_all(30 * slowdown()), "killed after %ld ms, plug-in %s", ms, plugin);
    uint64_t emitted = atomic_load(&f.shared->emitted[0]), values = 0, marks;
    int status = recover_elsewhere(f.dir);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it is recovered");
    struct rt_rank *rank = fixture_open(&f);
    const struct rt_value_thread *t = only_thread(rank);
    bool even = true;
    for (uint64_t v = 0; v < 16; v++) {
        uint64_t n = count_of(rank, 1, 0, v);
        values += n;
        even &= n == emitted / 16 || n == emitted / 16 + 1;
    }
    /* The process may be killed between a record and its count: then the file has one more than the
     * count. */
    ok(t->samples == emitted || t->samples == emitted + 1,
       "each sample once: %" PRIu64 " of %" PRIu64, t->samples, emitted);
    if (processed)
        ok(values == t->samples && even && instruction(rank, 1)->values == values,
           "each value as often as it came");
    else
        ok(values + t->unprocessed == t->samples && t->unprocessed > 0 &&
               strstr(rt_rank_metadata(rank, "values.failed"), "not taken by a path") != NULL,
           "no plug-in by a path from the stream: %" PRIu64 " are counted as not processed",
           t->unprocessed);
    marks = 1 + (emitted + 999) / 1000;
    ok(rt_rank_info(rank)->event_count == marks || rt_rank_info(rank)->event_count == marks + 1,
       "each event once");
    ok(rt_rank_metadata(rank, "values.lost_chunks") == NULL, "no chunk is missing");
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "ls %s/.regtrace/values.* 2>/dev/null", f.dir);
    ok(system(path) != 0, "the snapshot is gone");
    rt_rank_close(rank);
    fixture_end(&f);
}

/* Only the last snapshot is left. */
static void test_stream_gone(void)
{
    struct fixture f;
    static const char *meta[3] = {"values", "each"};
    char pattern[PATH_MAX];
    glob_t found;
    fixture_begin(&f);
    f.meta = meta;
    (void)snprintf(pattern, sizeof pattern, "%s/.regtrace/values.*[0-9]", f.dir);
    pid_t pid = fixture_run(&f, slow_values);
    int rc = GLOB_NOMATCH;
    for (int i = 0; i < 6000 && rc != 0; i++) {
        fixture_sleep_ms(10);
        rc = glob(pattern, 0, NULL, &found);
    }
    if (rc == 0)
        globfree(&found);
    ok(rc == 0, "a snapshot is made while the program runs");
    (void)kill(atomic_load(&f.shared->writer), SIGKILL);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    (void)!fixture_wait_all(30 * slowdown());
    (void)unlink(f.stream);
    int status = recover_elsewhere(f.dir);
    struct rt_rank *rank = fixture_open(&f);
    const struct rt_value_thread *t = only_thread(rank);
    uint64_t values = 0;
    for (uint64_t v = 0; v < 16; v++)
        values += count_of(rank, 1, 0, v);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && t->samples > 0 &&
           t->samples <= atomic_load(&f.shared->emitted[0]) + 1 && values == t->samples,
       "without its stream: what the snapshot had (%" PRIu64 " of %" PRIu64 ")", t->samples,
       atomic_load(&f.shared->emitted[0]));
    rt_rank_close(rank);
    fixture_end(&f);
}

static int recover(const char *dir)
{
    struct rt_error e = {{0}};
    const struct rt_recover_listener listener = {.report = NULL};
    return rt_recover_dir(dir, &listener, &e) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--process") == 0)
        return stand_in(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--recover") == 0)
        return recover(argv[2]);
    const char *writer = fixture_writer();
    char path[PATH_MAX];
    if (mkdtemp(programs) == NULL || atexit(remove_programs) != 0 ||
        !copy(writer, "regtrace-writer") || !copy("/proc/self/exe", "regtrace-vprofiler"))
        return 99;
    (void)snprintf(path, sizeof path, "%s/regtrace-writer", programs);
    (void)setenv("REGTRACE_WRITER", path, 1);
    test_exact();
    test_many();
    test_failing();
    test_killed(100, "each", true);
    test_killed(1300, "each", true);
    test_killed(300, "/nowhere/each.so", false);
    test_stream_gone();
    done_testing();
}
