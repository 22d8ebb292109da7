/* SPDX-License-Identifier: BSD-3-Clause
 * Feeds nonsense to the writer, to recover and to the reader: streams that the process overwrote,
 * and rank files that are cut, flipped or foreign. None of them may crash. The first argument sets
 * the number of rounds; the seed is then new each time. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "writer/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned seed;

static void scribble(unsigned char *at, size_t bytes, unsigned density)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned)rand_r(&seed) % density == 0)
            at[i] = (unsigned char)rand_r(&seed);
}

/* Damages everything but the mapping itself: header, tables, chunk headers, slots. */
static void produce_damage(struct fixture *f, struct producer *p)
{
    struct stream_header *h = p->stream.header;
    for (uint64_t i = 0; i < 3000; i++)
        (void)recorder_emit(&recorder_self, i % 7 == 0 ? EV_WINDOW_OPEN : EV_MARK_SET, i, i);
    (void)f;
    switch (rand_r(&seed) % 4) {
    case 0:
        scribble(p->stream.base + h->threads_offset, h->chunks_offset - h->threads_offset, 3);
        break;
    case 1:
        for (uint32_t i = 0; i < h->chunk_count; i++)
            scribble((unsigned char *)stream_chunk(&p->stream, i), sizeof(struct chunk_header), 4);
        break;
    case 2:
        for (uint32_t i = 0; i < h->chunk_count; i++) {
            struct chunk_header *c = stream_chunk(&p->stream, i);
            for (uint32_t k = 0; k < stream_chunk_slots(&p->stream); k++)
                chunk_slots(c)[k].head = EVENT_HEAD(rand_r(&seed), rand_r(&seed), 1, c->generation);
            c->sequence = (uint64_t)rand_r(&seed) % 4;
            c->thread = (uint32_t)rand_r(&seed) % 3;
            atomic_store(&c->used, (uint32_t)rand_r(&seed));
            atomic_store(&c->state, CHUNK_CLOSED);
        }
        break;
    default: {
        /* The header except its states: what the writer checked at its start is no longer true. */
        unsigned char *from = (unsigned char *)&h->chunk_bytes;
        scribble(from, sizeof *h - (size_t)(from - (unsigned char *)h), 4);
    }
    }
    fixture_sleep_ms(rand_r(&seed) % 2 == 0 ? 1200 : 50);
}

static bool damaged_stream(int round)
{
    struct fixture f;
    fixture_begin(&f);
    f.geometry = (struct stream_geometry){.pool_bytes = 512u << 10};
    seed += (unsigned)round * 77;
    pid_t pid = fixture_run(&f, produce_damage);
    (void)fixture_wait(pid);
    bool ended = fixture_wait_all(30);
    struct rt_recovered r;
    int rc = ended ? fixture_recover(&f, &r) : 0;
    bool good = ended && fixture_crashes() == 0 && rc != -ECHILD;
    if (!good)
        diag("stream round %d: ended %d, crashes %d, recover %d", round, ended, fixture_crashes(),
             rc);
    fixture_end(&f);
    return good;
}

static void produce(struct fixture *f, struct producer *p)
{
    (void)f;
    for (uint64_t i = 0; i < 20000; i++)
        (void)recorder_emit(&recorder_self, i % 100 == 0 ? EV_WINDOW_OPEN : EV_MARK_SET, i, i * i);
    (void)producer_finish(p, STREAM_FINISHED);
}

static unsigned char *read_whole(const char *path, size_t *bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return NULL;
    unsigned char *data = malloc((size_t)st.st_size);
    *bytes = (size_t)st.st_size;
    if (data == NULL || read(fd, data, *bytes) != (ssize_t)*bytes)
        *bytes = 0;
    (void)close(fd);
    return data;
}

static void write_whole(const char *path, const unsigned char *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    (void)!write(fd, data, bytes);
    (void)close(fd);
}

/* Returns 1 if the file is readable, 0 if it is refused with a text, -1 if it is refused without a
 * text. */
static int try_reading(const char *path)
{
    struct rt_error e = {{0}};
    struct rt_rank *rank;
    struct rt_event *rows = NULL;
    size_t count;
    int rc = rt_rank_open_file(&rank, path, &e);
    if (rc == 0) {
        rc = rt_rank_load_events(rank, &rows, &count, &e);
        (void)rt_rank_string(rank, 7);
        (void)rt_rank_function(rank, EV_FIRED, NULL);
        rt_rank_close(rank);
        free(rows);
    }
    return rc == 0 ? 1 : e.text[0] != '\0' ? 0 : -1;
}

static void test_files(int rounds)
{
    struct fixture f;
    char path[PATH_MAX], bad[PATH_MAX];
    size_t bytes = 0;
    fixture_begin(&f);
    (void)fixture_wait(fixture_run(&f, produce));
    (void)fixture_wait_all(10);
    (void)snprintf(path, sizeof path, "%s/rank-00000.h5", f.dir);
    (void)snprintf(bad, sizeof bad, "%s/bad.h5", f.dir);
    unsigned char *good = read_whole(path, &bytes);
    is_int(try_reading(path), 1, "the undamaged file is readable");
    int refused = 0, readable = 0, silent = 0;
    for (int i = 0; i < rounds && bytes > 0; i++) {
        unsigned char *copy = malloc(bytes);
        memcpy(copy, good, bytes);
        size_t n = bytes;
        if (i % 3 == 0)
            n = (size_t)rand_r(&seed) % bytes;
        else if (i % 3 == 1)
            copy[(size_t)rand_r(&seed) % (i % 2 == 0 ? bytes : 4096)] ^=
                (unsigned char)(1 + rand_r(&seed) % 255);
        else
            memset(copy + (size_t)rand_r(&seed) % (bytes - 512), rand_r(&seed) % 256, 512);
        write_whole(bad, copy, n);
        free(copy);
        int result = try_reading(bad);
        refused += result == 0;
        readable += result == 1;
        silent += result < 0;
    }
    diag("%d damaged files: %d refused, %d still readable", rounds, refused, readable);
    is_int(refused + readable, rounds, "each damaged file is refused with a text, or can be read");
    ok(refused > rounds / 4 && silent == 0, "damage is noticed");
    free(good);
    write_whole(bad, (const unsigned char *)"not an HDF5 file\n", 17);
    is_int(try_reading(bad), 0, "a text file is refused");
    write_whole(bad, NULL, 0);
    is_int(try_reading(bad), 0, "an empty file is refused");
    is_int(try_reading("/dev/null"), 0, "a device is refused");
    is_int(try_reading(f.dir), 0, "a folder is refused as a file");
    (void)snprintf(path, sizeof path, "%s/regtrace.h5", f.dir);
    is_int(try_reading(path), 0, "HDF5 that is not a rank file is refused");
    fixture_end(&f);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 90 / slowdown();
    seed = argc > 2 ? (unsigned)atoi(argv[2]) : argc > 1 ? (unsigned)getpid() : 1;
    reader_patience_ms = 5000 * slowdown();
    diag("seed %u", seed);
    test_files(rounds);
    int good = 0, streams = (rounds + 5) / 6;
    for (int i = 0; i < streams; i++)
        good += damaged_stream(i);
    is_int(good, streams, "overwritten streams end the writer and recover without a crash");
    return done_testing();
}
