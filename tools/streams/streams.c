/* SPDX-License-Identifier: BSD-3-Clause
 * Finds each thread's rows in its file, from the table /pieces or by reading the events, and merges
 * the threads' events in a heap. */
#include "tools/streams/streams.h"

#include "tools/streams/heap.h"
#include "tools/streams/merged.h"
#include "tools/streams/joint_processes.h"

#include "base/hash.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_ROWS = 65536, BUFFER_ROWS = 4096 };

/* Consecutive rows of a file that belong to one thread. */
struct stream_piece {
    uint64_t first;
    uint32_t count;
    int32_t thread;
};

struct stream_file {
    struct rt_rank *rank;
    struct stream_piece *pieces; /* by row */
    size_t piece_count, piece_room;
    bool own; /* this process reads it */
};

/* The position up to which one thread has been read. */
struct cursor {
    struct stream_file *file;
    size_t piece;    /* the one that is being read */
    uint64_t offset; /* rows of the piece that have been read */
    struct rt_event *buffer;
    uint64_t first; /* row of the buffer's first event */
    uint32_t at, filled;
    int64_t ns; /* time of the thread's next event */
};

struct streams {
    struct stream_file *files;
    size_t file_count;
    struct thread_stream *all;
    struct cursor *cursors;
    uint32_t count, room;
    /* Streams that have events left; the stream of the next event is on top. */
    uint32_t *heap;
    uint32_t heap_count;
    uint64_t events;
    uint64_t *loads;  /* by process: rows of its files */
    int32_t *numbers; /* of threads, by stream */
    /* Where events come from if several processes convert the run; NULL if this one is alone. */
    struct merged *merged;
};

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Adds rows after the last piece, or extends that piece if it is the same thread's. */
static bool add_piece(struct stream_file *f, uint64_t row, uint32_t count, int32_t thread)
{
    struct stream_piece *last = f->piece_count != 0 ? &f->pieces[f->piece_count - 1] : NULL;
    if (last != NULL && last->thread == thread && last->count <= UINT32_MAX - count) {
        last->count += count;
        return true;
    }
    void *p = array_grown(f->pieces, f->piece_count, &f->piece_room, sizeof *f->pieces);
    if (p == NULL)
        return false;
    f->pieces = p;
    f->pieces[f->piece_count++] = (struct stream_piece){row, count, thread};
    return true;
}

/* Adds the pieces that the table /pieces lists; sets *next to the first row that it does not
 * list. */
static int take_table(struct stream_file *f, uint64_t *next, struct rt_error *e)
{
    const struct rt_piece *p = rt_rank_tables(f->rank)->pieces;
    size_t n = rt_rank_pieces(f->rank, next);
    for (size_t i = 0; i < n; i++) {
        uint64_t rows = 0;
        for (uint64_t left = p[i].rows; left != 0; left -= rows) {
            rows = left < UINT32_MAX ? left : UINT32_MAX;
            if (!add_piece(f, p[i].row + p[i].rows - left, (uint32_t)rows, p[i].thread))
                return no_memory(e);
        }
    }
    return 0;
}

/* Reads the events from row `next` on to find whose they are. */
static int scan(struct stream_file *f, uint64_t next, struct rt_error *e)
{
    if (next == rt_rank_info(f->rank)->event_count)
        return 0;
    struct rt_event *block = calloc(SCAN_ROWS, sizeof *block);
    size_t got = 1;
    int rc = block != NULL ? 0 : no_memory(e);
    for (uint64_t row = next; rc == 0 && got != 0; row += got) {
        rc = rt_rank_read_events(f->rank, row, SCAN_ROWS, block, &got, e);
        for (size_t i = 0; rc == 0 && i < got; i++)
            if (!add_piece(f, row + i, 1, block[i].thread))
                rc = no_memory(e);
    }
    free(block);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static const struct rt_thread *row_of(const struct rt_rank_tables *t, int32_t number)
{
    for (size_t i = 0; i < t->thread_count; i++)
        if (t->threads[i].thread == number)
            return &t->threads[i];
    return NULL;
}

static int add_stream(struct streams *s, struct stream_file *f, int32_t number, struct rt_error *e)
{
    size_t room = s->room, same = room;
    void *all = array_grown(s->all, s->count, &room, sizeof *s->all);
    s->all = all != NULL ? all : s->all;
    void *cursors = array_grown(s->cursors, s->count, &same, sizeof *s->cursors);
    s->cursors = cursors != NULL ? cursors : s->cursors;
    if (all == NULL || cursors == NULL || s->count == INT32_MAX)
        return no_memory(e);
    s->room = (uint32_t)room;
    s->all[s->count] = (struct thread_stream){
        .rank = f->rank, .thread = row_of(rt_rank_tables(f->rank), number), .number = number};
    s->cursors[s->count] = (struct cursor){.file = f};
    for (size_t i = 0; i < f->piece_count; i++)
        if (f->pieces[i].thread == number)
            s->all[s->count].rows += f->pieces[i].count;
    s->count++;
    return 0;
}

/* Adds a stream for each thread of /threads and /events. */
static int add_threads(struct streams *s, struct stream_file *f, struct rt_error *e)
{
    const struct rt_rank_tables *t = rt_rank_tables(f->rank);
    int32_t *numbers = calloc(t->thread_count + f->piece_count + 1, sizeof *numbers);
    size_t n = 0;
    int rc = numbers != NULL ? 0 : no_memory(e);
    for (size_t i = 0; rc == 0 && i < t->thread_count; i++)
        numbers[n++] = t->threads[i].thread;
    for (size_t i = 0; rc == 0 && i < f->piece_count; i++)
        numbers[n++] = f->pieces[i].thread;
    if (rc == 0)
        qsort(numbers, n, sizeof *numbers, by_number);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (i == 0 || numbers[i] != numbers[i - 1])
            rc = add_stream(s, f, numbers[i], e);
    free(numbers);
    return rc;
}

static void close_file(struct stream_file *f)
{
    rt_rank_close(f->rank);
    free(f->pieces);
    *f = (struct stream_file){.rank = NULL};
}

/* --- the next event --------------------------------------------------------------------------- */

static int not_its(const struct cursor *c, size_t i, int32_t number, struct rt_error *e)
{
    rt_error_set(e,
                 "%s: event %" PRIu64 " is thread %" PRId32 "'s, its table /pieces says %" PRId32
                 "'s: it is damaged; `regtrace check` says more",
                 rt_rank_info(c->file->rank)->file, c->first + i, c->buffer[i].thread, number);
    return -EBADMSG;
}

/* Reads more of a thread's events into its buffer; leaves the buffer empty after the last one. */
static int refill(struct cursor *c, int32_t number, struct rt_error *e)
{
    struct stream_file *f = c->file;
    size_t got = 0;
    c->at = c->filled = 0;
    while (c->piece < f->piece_count &&
           (f->pieces[c->piece].thread != number || c->offset == f->pieces[c->piece].count)) {
        c->piece++;
        c->offset = 0;
    }
    if (c->piece == f->piece_count)
        return 0;
    const struct stream_piece *p = &f->pieces[c->piece];
    uint64_t left = p->count - c->offset;
    if (c->buffer == NULL)
        c->buffer = malloc(BUFFER_ROWS * sizeof *c->buffer);
    if (c->buffer == NULL)
        return no_memory(e);
    c->first = p->first + c->offset;
    int rc = rt_rank_read_events(f->rank, c->first, left < BUFFER_ROWS ? (size_t)left : BUFFER_ROWS,
                                 c->buffer, &got, e);
    if (rc == 0 && got == 0) {
        rt_error_set(e, "%s: rows that were there are gone", rt_rank_info(f->rank)->file);
        rc = -EBADMSG;
    }
    for (size_t i = 0; rc == 0 && i < got; i++)
        if (c->buffer[i].thread != number)
            rc = not_its(c, i, number, e);
    c->filled = (uint32_t)got;
    c->offset += got;
    return rc;
}

static int advance(struct streams *s, uint32_t stream, struct rt_error *e)
{
    struct cursor *c = &s->cursors[stream];
    int rc = c->at == c->filled ? refill(c, s->all[stream].number, e) : 0;
    if (rc == 0 && c->at < c->filled)
        c->ns = rt_rank_ns(c->file->rank, c->buffer[c->at].clock);
    return rc;
}

/* Streams are numbered by rank, file and thread, so the number decides between equal times. */
static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct streams *s = context;
    int64_t x = s->cursors[a].ns, y = s->cursors[b].ns;
    return x < y || (x == y && a < b);
}

static int begin(struct streams *s, struct rt_error *e)
{
    s->heap = calloc(s->count + 1u, sizeof *s->heap);
    if (s->heap == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < s->count; i++) {
        s->events += s->all[i].rows;
        if (!s->cursors[i].file->own)
            continue;
        int rc = advance(s, i, e);
        if (rc != 0)
            return rc;
        if (s->cursors[i].filled != 0)
            s->heap[s->heap_count++] = i;
    }
    for (uint32_t i = s->heap_count / 2; i-- > 0;)
        heap_sift(s->heap, s->heap_count, i, is_before, s);
    return 0;
}

int streams_next(struct streams *s, struct stream_record *r, bool *got, struct rt_error *e)
{
    if (s->merged != NULL)
        return merged_next(s->merged, r, got, e);
    *got = s->heap_count != 0;
    if (!*got)
        return 0;
    uint32_t first = s->heap[0];
    struct cursor *c = &s->cursors[first];
    *r = (struct stream_record){c->ns, first, c->first + c->at, c->buffer[c->at]};
    if (++c->at < c->filled) { /* the usual case */
        c->ns = rt_rank_ns(c->file->rank, c->buffer[c->at].clock);
        if (s->heap_count > 1)
            heap_sift(s->heap, s->heap_count, 0, is_before, s);
        return 0;
    }
    int rc = advance(s, first, e);
    if (rc != 0)
        return rc;
    if (c->at == c->filled) {
        free(c->buffer);
        c->buffer = NULL;
        s->heap[0] = s->heap[--s->heap_count];
    }
    if (s->heap_count != 0)
        heap_sift(s->heap, s->heap_count, 0, is_before, s);
    return 0;
}

/* --- several processes ------------------------------------------------------------------------ */

/* Assigns the file to the process that has the fewest rows so far. Each process assigns the files
 * in the same order, so all of them agree. A process releases the files of the others. */
static int give_to(struct streams *s, struct stream_file *f, struct rt_error *e)
{
    uint32_t least = 0;
    f->own = true;
    if (joint_count() == 1)
        return 0;
    if (s->loads == NULL && (s->loads = calloc(joint_count(), sizeof *s->loads)) == NULL)
        return no_memory(e);
    for (uint32_t i = 1; i < joint_count(); i++)
        if (s->loads[i] < s->loads[least])
            least = i;
    s->loads[least] += 1 + rt_rank_info(f->rank)->event_count;
    f->own = least == joint_number();
    if (!f->own)
        rt_rank_release(f->rank);
    return 0;
}

/* Returns a hash of the files, threads and row counts. Processes compare it to notice that the run
 * has changed between their readings. */
static uint64_t identity(const struct streams *s)
{
    uint64_t hash = HASH_BEGIN;
    for (uint32_t i = 0; i < s->count; i++) {
        const char *file = rt_rank_info(s->all[i].rank)->file;
        hash = hash_bytes(hash, file, strlen(file));
        hash = hash_bytes(hash, &s->all[i].number, sizeof s->all[i].number);
        hash = hash_bytes(hash, &s->all[i].rows, sizeof s->all[i].rows);
    }
    return hash;
}

static int leave_part(struct streams *s, uint64_t run, struct rt_error *e)
{
    struct merged_writer *w;
    struct stream_record r;
    bool got = true;
    int rc = merged_create(&w, s->count, run, e);
    if (rc != 0)
        return rc;
    while (rc == 0) {
        rc = streams_next(s, &r, &got, e);
        if (rc != 0 || !got)
            break;
        rc = merged_put(w, &r, e);
    }
    if (rc == 0)
        return merged_finish(w, e);
    merged_discard(w);
    return rc;
}

/* Writes this process's events for the other processes, then opens those of all. If the same run is
 * opened again, the file from the first time still serves. */
static int join(struct streams *s, struct rt_error *e)
{
    static uint64_t left_run;
    static bool left;
    uint64_t run = identity(s);
    int rc = left && left_run == run ? 0 : leave_part(s, run, e);
    if (rc != 0)
        return rc;
    left = true;
    left_run = run;
    s->numbers = calloc(s->count + 1u, sizeof *s->numbers);
    if (s->numbers == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < s->count; i++) {
        s->numbers[i] = s->all[i].number;
        free(s->cursors[i].buffer);
        s->cursors[i].buffer = NULL;
    }
    for (size_t i = 0; i < s->file_count; i++)
        rt_rank_release(s->files[i].rank);
    return merged_open(&s->merged, s->count, s->numbers, run, e);
}

/* --- the sequence ----------------------------------------------------------------------------- */

static int add_file(struct streams *s, const struct rt_run *run, size_t i,
                    const struct rank_list *ranks, struct rt_error *e)
{
    struct stream_file *f = &s->files[s->file_count];
    int rc = rt_rank_open(&f->rank, run, i, e);
    if (rc == 0 && !rank_list_has(ranks, rt_rank_info(f->rank)->rank)) {
        close_file(f);
        return 0;
    }
    uint64_t next = 0;
    if (rc == 0)
        rc = take_table(f, &next, e);
    if (rc == 0)
        rc = scan(f, next, e);
    if (rc == 0)
        rc = add_threads(s, f, e);
    if (rc == 0)
        rc = give_to(s, f, e);
    if (rc == 0)
        s->file_count++;
    return rc;
}

int streams_open(struct streams **streams, const struct rt_run *run, const struct rank_list *ranks,
                 const struct skipped_files *skipped, struct rt_error *e)
{
    struct streams *s = calloc(1, sizeof *s);
    int rc = s != NULL ? 0 : no_memory(e);
    if (s != NULL && (s->files = calloc(rt_run_count(run) + 1, sizeof *s->files)) == NULL)
        rc = no_memory(e);
    for (size_t i = 0; rc == 0 && i < rt_run_count(run); i++) {
        uint32_t before = s->count;
        rc = add_file(s, run, i, ranks, e);
        if (rc != 0 && rc != -ENOMEM && skipped != NULL) {
            skipped->skip(skipped->context, rt_run_file(run, i), e->text);
            close_file(&s->files[s->file_count]);
            s->count = before;
            rc = 0;
        }
    }
    if (rc == 0)
        rc = begin(s, e);
    if (rc == 0 && joint_count() > 1)
        rc = join(s, e);
    if (rc != 0) {
        streams_close(s);
        s = NULL;
    }
    *streams = s;
    return rc;
}

void streams_close(struct streams *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        free(s->cursors[i].buffer);
    for (size_t i = 0; s->files != NULL && i <= s->file_count; i++)
        close_file(&s->files[i]);
    free(s->files);
    free(s->all);
    free(s->cursors);
    free(s->heap);
    free(s->loads);
    free(s->numbers);
    merged_close(s->merged);
    free(s);
}

const struct thread_stream *streams_all(const struct streams *s, uint32_t *count)
{
    *count = s->count;
    return s->all;
}

bool streams_is_own(const struct streams *s, uint32_t stream)
{
    return s->cursors[stream].file->own;
}

uint64_t streams_events(const struct streams *s)
{
    return s->events;
}

int streams_read(struct streams *s, uint32_t stream, uint64_t first, size_t count,
                 struct rt_event *out, size_t *got, struct rt_error *e)
{
    return rt_rank_read_events(s->cursors[stream].file->rank, first, count, out, got, e);
}
