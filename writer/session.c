/* SPDX-License-Identifier: BSD-3-Clause
 * The writer's loop: drains, sleeps, watches the process, and completes the file however the
 * process ends. */
#include "writer/session.h"

#include "base/identity.h"
#include "base/log.h"
#include "base/sys.h"
#include "writer/empty_folder.h"
#include "writer/perf_map_copy.h"
#include "writer/repair/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLEEP_NS 200000000
#define TAIL_NS 1000000000u
#define FILES_NS 200000000u
#define CALIBRATION_NS 30000000000u
#define PROFILE_NS 60000000000u
#define EXEC_LOOK_NS 5000000
#define BEAT_MS 500
/* With up to this many ranks, the index is complete before the last rank may end. */
#define INDEX_BEFORE_CLOSE 1024

enum ending { ENDING_NONE, ENDING_FINISHED, ENDING_EMPTY, ENDING_EXEC, ENDING_KILLED };

static struct stream_header *header(const struct writer_session *s)
{
    return s->stream.header;
}

static void *watch(void *context)
{
    struct writer_session *s = context;
    struct pollfd fds[2] = {{.fd = s->traced.pidfd, .events = POLLIN},
                            {.fd = s->ctl.listener, .events = POLLIN}};
    int look_ms = s->traced.pidfd < 0 ? TRACED_PROCESS_LOOK_MS : BEAT_MS, found;
    while ((found = poll(fds, 2, look_ms)) >= 0 || errno == EINTR) {
        atomic_fetch_add(&header(s)->writer_beats, 1);
        bool gone = found <= 0 ? traced_process_is_gone(&s->traced) : fds[0].revents != 0;
        if (found <= 0 && !gone)
            continue;
        uint32_t go = atomic_load(&s->watcher_go);
        atomic_store(&s->attention, 1);
        if (atomic_exchange(&header(s)->writer_sleeps, 0) != 0)
            sys_futex_wake(&header(s)->writer_sleeps, 1);
        if (gone)
            break;
        sys_futex_wait(&s->watcher_go, go, SLEEP_NS);
    }
    return NULL;
}

/* Without the watcher thread the loop's time-outs find everything, only later. But a process then
 * sees no beats, and gives up a writer whose write to the file hangs for 2 s. */
static void start_watcher(struct writer_session *s)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return;
    (void)pthread_attr_setstacksize(&attributes, 64u << 10);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_create(&thread, &attributes, watch, s);
    (void)pthread_attr_destroy(&attributes);
}

static int add_calibration(struct writer_session *s, const struct clock_point *p)
{
    struct rt_calibration row = {p->ticks, p->monotonic_ns, p->realtime_ns, p->uncertainty};
    s->last_calibration_ns = clock_monotonic_ns();
    return table_append(&s->file.tables[SCHEMA_CALIBRATION], &row, 1);
}

static int calibrate(struct writer_session *s)
{
    struct clock_point now = clock_calibrate();
    return add_calibration(s, &now);
}

static int copy_profile(struct writer_session *s, uint64_t now)
{
    s->last_profile_ns = now;
    return drain_copy_profile(&s->drain);
}

/* Rank, size and MPI's state may have become known: changes the file's name accordingly. */
static void follow_rank(struct writer_session *s)
{
    int32_t rank = atomic_load(&header(s)->rank), size = atomic_load(&header(s)->size);
    bool mpi = atomic_load(&header(s)->mpi_state) != STREAM_MPI_NONE;
    if (rank == s->claim.rank && size == s->claim.size && mpi == s->claim.mpi)
        return;
    s->claim.rank = rank;
    s->claim.size = size;
    s->claim.mpi = mpi;
    log_set_folder(s->dir, rank, header(s)->pid);
    struct rt_error e;
    if (s->file_open && claim_take(&s->claim, &e) != 0)
        log_line(LOG_WARNING, e.text);
}

static int begin_values(struct writer_session *s)
{
    char path[PATH_MAX];
    struct values_about about = {.plugin = s->facts.values,
                                 .snapshot = path,
                                 .pid = header(s)->pid,
                                 .progress = &header(s)->writer_progress};
    int rc = claim_values_path(&s->claim, path);
    return rc != 0 ? rc : values_begin(&s->drain.values, &about);
}

/* Removes the snapshot of captured values of a file that is closed or not kept. */
static void remove_snapshot(const struct writer_session *s)
{
    char path[PATH_MAX];
    if (s->facts.values[0] != '\0' && claim_values_path(&s->claim, path) == 0)
        (void)unlink(path);
}

/* Creates the file under another name, and renames it when readers can open it: a reader that looks
 * in between finds no file rather than half a file. */
static int open_file(struct writer_session *s, struct rt_error *e)
{
    char path[PATH_MAX];
    struct rankfile_identity id;
    uint32_t bytes;
    follow_rank(s);
    int rc = claim_take(&s->claim, e);
    if (rc != 0)
        return rc;
    rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    stream_facts_identity(&id, &s->facts, &s->stream);
    const char *metadata = drain_metadata(&s->drain, &bytes);
    rc = claim_new_path(&s->claim, path);
    if (rc == 0)
        rc = rankfile_create(&s->file, path, &id, metadata, bytes, s->facts.deflate, true, e);
    s->file_open = true;
    if (rc == 0 && (rc = claim_publish(&s->claim)) != 0)
        rt_error_set(e, "cannot create %s in %s: %s", s->claim.file, s->dir, strerror(-rc));
    if (rc != 0)
        (void)unlink(path);
    if (rc == 0)
        rc = drain_set_file(&s->drain, &s->file);
    if (rc == 0 && s->facts.values[0] != '\0')
        rc = begin_values(s);
    if (rc == 0 && header(s)->clock_start.ticks != 0)
        rc = add_calibration(s, &header(s)->clock_start);
    if (rc == 0)
        rc = calibrate(s);
    return rc;
}

/* Ends recording after a failure: tells the process, wakes waiting threads, and logs one line with
 * the reason. */
static void fail(struct writer_session *s, int rc, const char *text)
{
    char line[1024];
    bool room = rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
    s->keep_stream = rc != -ENOENT;
    (void)snprintf(line, sizeof line, "recording has ended: %s (%s)%s", text, strerror(-rc),
                   rc == -ENOENT ? ""
                   : room        ? "; make room, then `regtrace recover` finishes the file"
                                 : "; `regtrace recover` finishes the file");
    atomic_store(&header(s)->writer_state, WRITER_FAILED);
    atomic_fetch_add(&header(s)->chunks_freed, 1);
    sys_futex_wake(&header(s)->chunks_freed, INT_MAX);
    log_line(LOG_ERROR, line);
}

/* After a failure: removes the stream if recover is not to have it, or cannot find it because the
 * folder or the entry is gone. */
static void give_up_stream(const struct writer_session *s)
{
    char entry[PATH_MAX + 32];
    (void)snprintf(entry, sizeof entry, "%s/.regtrace/%s.entry", s->dir, s->claim.key);
    bool lost = access(entry, F_OK) != 0 && errno == ENOENT;
    if ((lost || !s->keep_stream) && s->facts.stream_path[0] != '\0')
        (void)unlink(s->facts.stream_path);
}

static void check_limit(struct writer_session *s)
{
    if (s->limit_reached || !s->drain.discard)
        return;
    s->limit_reached = true;
    atomic_store(&header(s)->writer_state, WRITER_FAILED);
    log_line(LOG_ERROR, "recording has ended: the file has reached REGTRACE_MAX_SIZE");
}

/* Serves one round. Returns 0, or -errno if the file can no longer be written. */
static int serve_once(struct writer_session *s, bool *moved, struct rt_error *e)
{
    uint64_t now = clock_monotonic_ns();
    bool tail = now - s->last_tail_ns >= TAIL_NS;
    bool files = now - s->last_files_ns >= FILES_NS;
    int rc = 0;
    *moved = false;
    atomic_fetch_add(&header(s)->writer_progress, 1);
    if (!s->file_open && drain_has_events(&s->drain, tail))
        rc = open_file(s, e);
    if (s->file_open && rc == 0) {
        if (tail && now - s->last_calibration_ns >= CALIBRATION_NS)
            rc = calibrate(s);
        if (rc == 0 && tail && now - s->last_profile_ns >= PROFILE_NS)
            rc = copy_profile(s, now);
        if (rc == 0)
            rc = drain_step(&s->drain, tail ? DRAIN_OPEN : DRAIN_CLOSED, moved);
        int64_t bytes = rc == 0 ? rankfile_bytes(&s->file) : 0;
        rc = rc != 0 ? rc : bytes < 0 ? (int)bytes : 0;
        rt_error_set(e, "the file %s cannot be written", s->claim.file);
        check_limit(s);
    }
    if (rc == 0)
        drain_add_chunks(&s->drain, &s->stream);
    if (tail)
        s->last_tail_ns = now;
    follow_rank(s);
    ctl_serve(&s->ctl, &s->stream, s->file_open ? rankfile_committed(&s->file) : 0, files);
    if (files)
        s->last_files_ns = now;
    atomic_store(&s->attention, 0);
    atomic_fetch_add(&s->watcher_go, 1);
    sys_futex_wake(&s->watcher_go, 1);
    return rc;
}

/* Returns true after an exec: the stream is no longer mapped. If the maps cannot be read (the new
 * program is set-uid), the program has been replaced too. */
static bool image_was_replaced(const struct writer_session *s)
{
    char path[64], line[PATH_MAX + 128], inode[32];
    struct stat st;
    (void)snprintf(path, sizeof path, "/proc/%u/maps", header(s)->pid);
    if (fstat(s->stream.fd, &st) != 0)
        return false;
    (void)snprintf(inode, sizeof inode, " %llu ", (unsigned long long)st.st_ino);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return true;
    bool mapped = false;
    while (!mapped && fgets(line, sizeof line, f) != NULL)
        mapped = strstr(line, inode) != NULL;
    bool readable = !ferror(f);
    (void)fclose(f);
    return !mapped && readable;
}

static enum ending ending_now(const struct writer_session *s)
{
    /* Check this first: after the process has ended, its state is final. */
    bool gone = traced_process_is_gone(&s->traced);
    uint32_t state = atomic_load(&header(s)->state);
    if (state == STREAM_FINISHED)
        return ENDING_FINISHED;
    if (state == STREAM_EMPTY)
        return ENDING_EMPTY;
    if (gone)
        return state == STREAM_EXECED ? ENDING_EXEC : ENDING_KILLED;
    if (state == STREAM_EXECED && image_was_replaced(s))
        return ENDING_EXEC;
    return ENDING_NONE;
}

static void sleep_a_little(struct writer_session *s)
{
    struct stream_header *h = header(s);
    atomic_store(&h->writer_sleeps, 1);
    uint32_t state = atomic_load(&h->state);
    bool quick = state == STREAM_EXECED;
    if (!drain_has_events(&s->drain, false) && atomic_load(&s->attention) == 0 &&
        state != STREAM_FINISHED && state != STREAM_EMPTY)
        sys_futex_wait(&h->writer_sleeps, 1, quick ? EXEC_LOOK_NS : SLEEP_NS);
    else if (drain_has_events(&s->drain, false))
        sys_futex_wait(&h->writer_sleeps, 1, EXEC_LOOK_NS); /* chunks are blocked: no busy loop */
    atomic_store(&h->writer_sleeps, 0);
}

/* Notes for the index what it would otherwise have to open the file for. */
static void summarize(struct writer_session *s, const char *reason)
{
    struct claim_summary *y = &s->claim.summary;
    struct clock_point now = clock_calibrate();
    struct clock_map map =
        clock_map_make(&header(s)->clock_start, &now, header(s)->nominal_ns_per_tick);
    *y = (struct claim_summary){
        .fired = table_rows(&s->file.tables[SCHEMA_FIRED]),
        .windows = table_rows(&s->file.tables[SCHEMA_WINDOWS]),
        .threads = table_rows(&s->file.tables[SCHEMA_THREADS]),
        .clock_ticks0 = map.ticks0,
        .clock_offset_ns = atomic_load(&header(s)->clock_offset_ns),
        .ns_per_tick = map.ns_per_tick * (1.0 + header(s)->clock_drift),
    };
    y->clock_ns0 = (int64_t)map.ns0 + y->clock_offset_ns;
    (void)snprintf(y->end_reason, sizeof y->end_reason, "%s", reason);
}

static int finish_file(struct writer_session *s, enum ending ending, bool *kept)
{
    char reason[SCHEMA_REASON_WIDTH];
    static const char *const words[] = {"", "finished", "empty", "exec", "killed"};
    struct rankfile_identity id;
    bool moved;
    int rc = drain_step(&s->drain, DRAIN_FINAL, &moved);
    *kept = true;
    if (rc == 0 && ending == ENDING_EXEC && !replaced_program_has_results(s)) {
        *kept = false;
        return 0;
    }
    if (rc == 0)
        rc = drain_end(&s->drain);
    if (rc == 0 && s->drain.values != NULL)
        rc = values_write(s->drain.values, &s->file);
    if (rc == 0)
        rc = calibrate(s);
    stream_facts_identity(&id, &s->facts, &s->stream);
    if (rc == 0)
        rc = rankfile_update(&s->file, &id);
    (void)snprintf(reason, sizeof reason, "%s%s", words[ending],
                   s->limit_reached ? "; size limit reached before" : "");
    summarize(s, reason);
    if (rc == 0)
        rc = rankfile_finish(&s->file, "closed", reason);
    if (rc == 0)
        verify_note(&s->claim);
    return rc;
}

static void remove_file(struct writer_session *s)
{
    char path[PATH_MAX];
    if (s->claim.file[0] != '\0' && claim_refresh(&s->claim) == 0) {
        (void)snprintf(path, sizeof path, "%s/%s", s->dir, s->claim.file);
        (void)unlink(path);
    }
    claim_withdraw(&s->claim);
}

static void build_index(struct writer_session *s)
{
    struct rt_error e = {{0}};
    if (rt_index_build(s->dir, &e) != 0)
        log_detail(LOG_WARNING, "regtrace.h5 was not built; `regtrace report` tries again", e.text);
}

static int end_session(struct writer_session *s, enum ending ending)
{
    bool kept = false, last = false;
    struct rt_error e = {{0}};
    int rc = 0;
    bool wanted =
        ending != ENDING_EMPTY &&
        (s->file_open || drain_has_events(&s->drain, true) || ending == ENDING_FINISHED ||
         replaced_program_is_counted(s) || atomic_load(&header(s)->mpi_state) != STREAM_MPI_NONE);
    if (wanted && !s->file_open)
        rc = open_file(s, &e);
    if (wanted && rc == 0) {
        follow_rank(s);
        rt_error_set(&e, "the file %s cannot be completed", s->claim.file);
        rc = finish_file(s, ending, &kept);
    }
    ctl_close(&s->ctl, &s->stream);
    if (rc != 0) {
        fail(s, rc, e.text);
        (void)!claim_finish(&s->claim, CLAIM_FAILED, 0, &last);
        give_up_stream(s);
        return 1;
    }
    values_end(s->drain.values);
    s->drain.values = NULL;
    remove_snapshot(s);
    if (kept) {
        perf_map_keep(s->dir, s->facts.host, header(s)->pid, header(s)->pid_start_time);
        rc = claim_finish(&s->claim, CLAIM_CLOSED, s->file.written, &last);
    } else {
        remove_file(s);
        (void)rt_run_remove_empty(s->dir);
    }
    bool early = last && s->claim.size <= INDEX_BEFORE_CLOSE;
    if (early)
        build_index(s);
    if (s->facts.stream_path[0] != '\0')
        (void)unlink(s->facts.stream_path);
    if (!s->limit_reached)
        atomic_store(&header(s)->writer_state, WRITER_CLOSED);
    atomic_fetch_add(&header(s)->chunks_freed, 1);
    sys_futex_wake(&header(s)->chunks_freed, INT_MAX);
    if (last && !early)
        build_index(s);
    return rc == 0 ? 0 : 1;
}

static void prepare_claim(struct writer_session *s)
{
    struct claim *c = &s->claim;
    stream_facts_claim(c, &s->facts, &s->stream, s->dir);
    c->writer_pid = (uint32_t)getpid();
    c->writer_start_time = identity_start_time(c->writer_pid);
}

static void log_warning(void *context, const char *key, const char *value)
{
    (void)context;
    if (strncmp(key, "warning.", 8) == 0)
        log_line(LOG_WARNING, value);
}

static void find_warning(void *context, const char *key, const char *value)
{
    (void)value;
    *(bool *)context |= strncmp(key, "warning.", 8) == 0;
}

/* Logs the warnings about the chains. All processes of the run share them, so only the first
 * process that comes here logs them. */
static void log_chain_warnings(struct writer_session *s)
{
    char path[PATH_MAX];
    uint32_t bytes;
    bool any = false;
    const char *text = drain_metadata(&s->drain, &bytes);
    if (rankfile_each_metadata(text, bytes, find_warning, &any) != 0)
        log_line(LOG_WARNING, "no memory for the warnings about the chains");
    if (!any || snprintf(path, sizeof path, "%s/.regtrace/warned", s->dir) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    (void)close(fd);
    (void)rankfile_each_metadata(text, bytes, log_warning, NULL);
}

static int start(struct writer_session *s, int stream_fd, const char *dir, struct rt_error *e)
{
    *s = (struct writer_session){.traced.pidfd = -1, .dir = dir, .ctl.listener = -1};
    int rc = stream_open(&s->stream, stream_fd, e);
    if (rc == 0)
        rc = drain_init(&s->drain, &s->stream);
    if (rc != 0)
        return rc;
    struct stream_header *h = header(s);
    traced_process_open(&s->traced, h->pid, h->pid_start_time);
    rc = stream_facts_read(&s->facts, &s->drain);
    s->drain.max_bytes = s->facts.max_bytes;
    clock_init(h->clock_source == CLOCK_SOURCE_MONOTONIC);
    log_set_folder(dir, atomic_load(&h->rank), h->pid);
    atomic_store(&h->writer_pid, (uint32_t)getpid());
    prepare_claim(s);
    if (rc == 0)
        rc = vacant_register(&s->claim, s->facts.job, e);
    else
        rt_error_set(e, "no memory");
    ctl_open(&s->ctl, dir, &s->claim, h->pid, s->facts.signal_number);
    start_watcher(s);
    /* From here on recover finds the stream, whichever process is killed. The watcher beats: a
     * writer that is ready and silent is given up. */
    if (rc == 0)
        atomic_store(&h->writer_state, WRITER_READY);
    log_chain_warnings(s);
    s->last_tail_ns = clock_monotonic_ns();
    return rc;
}

int session_run(struct writer_session *s, int stream_fd, const char *dir)
{
    struct rt_error e = {{0}};
    bool moved, last;
    int rc = start(s, stream_fd, dir, &e);
    if (s->stream.header == NULL)
        return 1;
    enum ending ending = ENDING_NONE;
    while (rc == 0 && ending == ENDING_NONE) {
        rc = serve_once(s, &moved, &e);
        if (rc != 0)
            break;
        ending = ending_now(s);
        if (ending == ENDING_NONE && !moved)
            sleep_a_little(s);
    }
    if (rc == 0)
        return end_session(s, ending);
    fail(s, rc, e.text);
    ctl_close(&s->ctl, &s->stream);
    if (s->claim.key[0] != '\0')
        (void)!claim_finish(&s->claim, CLAIM_FAILED, 0, &last);
    give_up_stream(s);
    return 1;
}
