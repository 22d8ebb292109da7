/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for a traced process, for the writer's tests. */
#include "t/writer/producer.h"

#include "base/identity.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(99);
}

void producer_create(struct producer *p, const char *path, const struct stream_geometry *g,
                     const char *const *meta)
{
    struct rt_error e = {{0}};
    *p = (struct producer){.writer = -1};
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    clock_init(false);
    if (stream_create(&p->stream, path, g, &e) != 0)
        die(e.text);
    struct stream_header *h = p->stream.header;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    h->uid = (uint32_t)getuid();
    h->pid_start_time = identity_start_time(h->pid);
    h->clock_source = (uint32_t)clock_source;
    h->clock_start = clock_calibrate();
    h->nominal_ns_per_tick = 0;
    char host[65] = "", boot_id[40] = "";
    (void)gethostname(host, sizeof host);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f == NULL || fscanf(f, "%39s", boot_id) != 1)
        die("no boot id");
    (void)fclose(f);
    bool bad = stream_meta_put(&p->stream, "host", host) != 0 ||
               stream_meta_put(&p->stream, "boot_id", boot_id) != 0 ||
               stream_meta_put(&p->stream, "program", "producer") != 0 ||
               stream_meta_put(&p->stream, "stream", path) != 0;
    for (; meta != NULL && *meta != NULL && !bad; meta += 2)
        bad = stream_meta_put(&p->stream, meta[0], meta[1]) != 0;
    if (bad)
        die("metadata does not fit");
    atomic_store(&h->state, STREAM_LIVE);
}

void producer_start_writer(struct producer *p, const char *program, const char *dir)
{
    struct stream_header *h = p->stream.header;
    atomic_store(&h->writer_state, WRITER_STARTING);
    p->writer = fork();
    if (p->writer == 0) {
        char stream[16];
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        int stream_fd = fcntl(p->stream.fd, F_DUPFD, 20);
        (void)snprintf(stream, sizeof stream, "%d", stream_fd);
        (void)execl(program, program, "--stream-fd", stream, "--dir", dir, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 1000 && atomic_load(&h->writer_state) == WRITER_STARTING; i++) {
        struct timespec ts = {.tv_nsec = 10000000};
        (void)nanosleep(&ts, NULL);
    }
    if (atomic_load(&h->writer_state) == WRITER_STARTING)
        die("the writer does not get ready");
}

void producer_attach(struct producer *p)
{
    recorder_start(&p->stream);
    if (!recorder_thread_attach(&recorder_self, false))
        die("cannot attach");
}

uint32_t producer_finish(struct producer *p, uint32_t state)
{
    struct stream_header *h = p->stream.header;
    recorder_thread_end(&recorder_self);
    recorder_stop();
    atomic_store(&h->state, state);
    recorder_wake_writer();
    for (int i = 0; i < 2000; i++) {
        uint32_t w = atomic_load(&h->writer_state);
        if (w == WRITER_CLOSED || w == WRITER_FAILED)
            return w;
        struct timespec ts = {.tv_nsec = 5000000};
        (void)nanosleep(&ts, NULL);
    }
    return atomic_load(&h->writer_state);
}
