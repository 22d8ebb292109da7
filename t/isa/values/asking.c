/* SPDX-License-Identifier: BSD-3-Clause
 * The other end of regtrace-vprofiler: sends it input and prints its answers. It shares
 * base/format/value_protocol.h with regtrace, and no code of isa/.
 *
 * asking answer|process PROGRAM PLUG-IN [stream|packets]
 * - answer: lines "ADDRESS HEXBYTES [COUNT]" from standard input become questions, many at once.
 *   Prints a line for each answer.
 * - process: "E PC HEXCODE C0 C1 [VALUE]..." adds an entry to the trace. "F PID HAS_CONTEXT" sends
 *   the trace and prints the tuples, or the reason why there are none. "R HEXBYTES" sends these
 *   bytes and prints the answer.
 *
 * The program's exit status comes last. */
#include "base/format/value_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 50, LINE = 4096, PATIENCE = 150 /* seconds */ };

static int fd;

static void die(const char *what)
{
    (void)fflush(stdout);
    perror(what);
    exit(9);
}

static bool get(void *to, size_t bytes)
{
    char *at = to;
    while (bytes > 0) {
        ssize_t n = read(fd, at, bytes);
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Ignores errors: a program that has ended gives no answer either, which the caller reports. */
static void put(const void *from, size_t bytes)
{
    (void)!send(fd, from, bytes, MSG_NOSIGNAL);
}

static unsigned hex(const char *text, uint8_t *bytes, unsigned most)
{
    unsigned n = 0, b;
    for (; n < most && sscanf(text, "%2x", &b) == 1; text += 2)
        bytes[n++] = (uint8_t)b;
    return n;
}

/* --- answer --- */

static void show(const struct values_answer *a)
{
    static const char *const flows[] = {"straight", "jump", "condition", "call",
                                        "return",   "step", "stop"};
    static const char *const sources[] = {"general", "vector", "mask",  "x87",
                                          "address", "loaded", "stored"};
    (void)printf("%" PRIx64 " length=%u flow=%s", a->address, a->length,
                 a->flow < 7 ? flows[a->flow] : "?");
    if (a->flow == VALUES_CONDITION)
        (void)printf(" condition=%u", a->condition);
    if (a->target != 0)
        (void)printf(" target=%" PRIx64, a->target);
    if (a->by_register)
        (void)printf(" register=%d", a->where.base);
    if (a->has_memory) {
        const struct values_address *w = &a->where;
        (void)printf(" where=%d,%d,%u,%" PRIx64 ",%u,%u,%u,%d,%u", w->base, w->index, w->scale,
                     (uint64_t)w->displacement, w->segment, w->element, w->bytes, w->is_32,
                     w->mask);
    }
    (void)printf("%s%s%s", a->reads_memory ? " reads" : "", a->writes_memory ? " writes" : "",
                 a->uses_vectors ? " vectors" : "");
    if (a->copy_bytes != 0) {
        (void)printf(" copy=");
        for (unsigned i = 0; i < a->copy_bytes; i++)
            (void)printf("%02x", a->copy[i]);
    }
    if (a->fixup_end != 0)
        (void)printf(" fixup=%u,%u,%" PRIx64, a->fixup_at, a->fixup_end, a->fixup_target);
    if (a->stack_as != 0)
        (void)printf(" stack_as=%u", a->stack_as);
    (void)printf("%s", a->is_selected ? " selected" : "");
    for (unsigned i = 0; i < a->item_count; i++) {
        const struct values_item *v = &a->items[i];
        (void)printf(" %s:%u,%u,%u,%u", v->source < 7 ? sources[v->source] : "?", v->index, v->lane,
                     v->size, v->shift);
    }
    (void)putchar('\n');
}

static void ask(const struct values_question *q, unsigned n)
{
    struct values_answer a;
    put(q, n * sizeof *q);
    for (unsigned i = 0; i < n; i++) {
        if (!get(&a, sizeof a)) {
            (void)puts("no answer");
            return;
        }
        show(&a);
    }
}

/* The answers to several questions may come as one packet. Read all at once: the kernel discards
 * the rest of a packet that is read in part. */
static void ask_packets(const struct values_question *q, unsigned n)
{
    static struct values_answer a[BATCH];
    put(q, n * sizeof *q);
    if (read(fd, a, sizeof a) != (ssize_t)(n * sizeof *a)) {
        (void)puts("no answer");
        return;
    }
    for (unsigned i = 0; i < n; i++)
        show(&a[i]);
}

static void answer(bool packets)
{
    char line[LINE], bytes[LINE];
    static struct values_question q[BATCH];
    unsigned n = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        unsigned count;
        memset(&q[n], 0, sizeof q[n]);
        int fields = sscanf(line, "%" SCNx64 " %4000s %u", &q[n].address, bytes, &count);
        q[n].count = (uint8_t)hex(bytes, q[n].bytes, sizeof q[n].bytes);
        if (fields == 3)
            q[n].count = (uint8_t)count;
        if (fields >= 2 && ++n == BATCH) {
            (packets ? ask_packets : ask)(q, n);
            n = 0;
        }
    }
    if (n > 0)
        (packets ? ask_packets : ask)(q, n);
}

/* --- process --- */

static uint8_t trace[2 * VALUES_FRAME_MOST];
static size_t traced;

static void add_entry(char *words)
{
    struct values_entry e = {.pc = 0};
    uint64_t values[8];
    char *save = NULL, *w = strtok_r(words, " \n", &save);
    e.pc = strtoull(w, NULL, 16);
    e.code_bytes = (uint8_t)hex(strtok_r(NULL, " \n", &save), e.code, sizeof e.code);
    e.context[0] = strtoull(strtok_r(NULL, " \n", &save), NULL, 16);
    e.context[1] = strtoull(strtok_r(NULL, " \n", &save), NULL, 16);
    while (e.count < 8 && (w = strtok_r(NULL, " \n", &save)) != NULL)
        values[e.count++] = strtoull(w, NULL, 16);
    if (traced + sizeof e + sizeof values > sizeof trace)
        return;
    memcpy(trace + traced, &e, sizeof e);
    memcpy(trace + traced + sizeof e, values, e.count * sizeof *values);
    traced += sizeof e + e.count * sizeof *values;
}

static void show_tuples(void)
{
    struct values_frame f;
    struct values_tuple t;
    char text[LINE];
    if (!get(&f, sizeof f)) {
        (void)puts("no answer");
        return;
    }
    if (f.kind == VALUES_FAILED && f.bytes < sizeof text && get(text, f.bytes)) {
        (void)printf("failed: %.*s\n", (int)f.bytes, text);
        return;
    }
    (void)printf("tuples %zu%s\n", f.bytes / sizeof t, f.kind != VALUES_TUPLES ? " ?" : "");
    for (size_t i = 0; i < f.bytes / sizeof t && get(&t, sizeof t); i++)
        (void)printf("%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", t.pc, t.context[0],
                     t.context[1], t.value);
}

static void process(void)
{
    static char line[LINE];
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct values_frame f = {.kind = VALUES_TRACE, .bytes = (uint32_t)traced};
        if (line[0] == 'E')
            add_entry(line + 2);
        if (line[0] == 'R') {
            uint8_t raw[256];
            put(raw, hex(line + 2, raw, sizeof raw));
            show_tuples();
        }
        if (line[0] != 'F' || sscanf(line + 2, "%u %u", &f.pid, &f.has_context) != 2)
            continue;
        put(&f, sizeof f);
        for (size_t at = 0; at < traced; at += 4096)
            put(trace + at, traced - at < 4096 ? traced - at : 4096);
        traced = 0;
        show_tuples();
    }
}

int main(int argc, char **argv)
{
    int both[2], status = 0;
    bool packets = argc > 4 && strcmp(argv[4], "packets") == 0;
    char mode[32];
    if (argc < 4)
        return 2;
    (void)alarm(PATIENCE);
    (void)snprintf(mode, sizeof mode, "--%s", argv[1]);
    if (socketpair(AF_UNIX, (packets ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC, 0, both) != 0)
        die("socketpair");
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(both[1], STDIN_FILENO);
        if (getenv("LIMIT") != NULL)
            (void)execl(argv[2], argv[2], "--limit", getenv("LIMIT"), mode, argv[3], (char *)NULL);
        else
            (void)execl(argv[2], argv[2], mode, argv[3], (char *)NULL);
        die(argv[2]);
    }
    (void)close(both[1]);
    fd = both[0];
    if (strcmp(argv[1], "answer") == 0)
        answer(packets);
    else
        process();
    (void)close(fd);
    if (child < 0 || waitpid(child, &status, 0) != child)
        die("wait");
    (void)printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
