/* SPDX-License-Identifier: BSD-3-Clause
 * The log of the messages of a program, its communicators and requests (call_log.h). */
#include "call_log.h"

#include <regtrace.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the log ---------------------------------------------------------------------------------- */

static FILE *out;
static int world_rank;
static bool in_window;
static unsigned chance_state;
static long ids;
int log_inside;

static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
}

static void end_log(void)
{
    if (out != NULL)
        fclose(out);
}

bool log_enter(void)
{
    if (log_inside > 0)
        return false;
    log_inside = 1;
    if (out == NULL) {
        char path[4096];
        PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        snprintf(path, sizeof path, "%s/log.%d", getenv("CALL_LOG"), world_rank);
        out = fopen(path, "w");
        if (out == NULL)
            abort();
        atexit(end_log);
        chance_state = (unsigned)atoi(getenv("CALL_LOG_SEED")) * 1000u + (unsigned)world_rank;
        NEXT(MPI_Pcontrol)(0);
    }
    chance_state = chance_state * 1103515245u + 12345u;
    if ((chance_state >> 8) % 12 == 0) {
        in_window = !in_window;
        NEXT(MPI_Pcontrol)(in_window);
    }
    return true;
}

static long new_id(void)
{
    return world_rank * 10000000L + ++ids;
}

/* --- communicators ---------------------------------------------------------------------------- */

/* A communicator is named by its groups in ranks of the world, and by how many of the same groups
 * each of its ranks has seen before. */
enum { COMMS = 4096, TEXT = 512 };
static struct comm {
    MPI_Comm handle;
    bool gone;
    char text[TEXT + 16];
} comms[COMMS];
static int comm_count;
static struct {
    char text[TEXT];
    int made;
} groups[COMMS];
static int group_count;

static void put_group(char text[TEXT / 2], MPI_Group group)
{
    MPI_Group world;
    int size;
    PMPI_Group_size(group, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < size; i++) {
        int rank;
        PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
        sprintf(text + strlen(text), "%d.", rank);
    }
    PMPI_Group_free(&world);
}

static void name_groups(char text[TEXT], MPI_Comm comm)
{
    MPI_Group group;
    int inter;
    char other[TEXT / 2] = "", own[TEXT / 2] = "";
    PMPI_Comm_group(comm, &group);
    put_group(own, group);
    PMPI_Group_free(&group);
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) {
        PMPI_Comm_remote_group(comm, &group);
        put_group(other, group);
        PMPI_Group_free(&group);
    }
    bool first = strcmp(own, other) < 0;
    snprintf(text, TEXT, "%s|%s", first ? own : other, first ? other : own);
}

void log_comm(MPI_Comm comm, MPI_Comm like)
{
    char text[TEXT];
    int g = 0;
    if (comm == MPI_COMM_NULL)
        return;
    name_groups(text, like);
    while (g < group_count && strcmp(groups[g].text, text) != 0)
        g++;
    if (g == COMMS || comm_count == COMMS)
        abort();
    if (g == group_count)
        strcpy(groups[group_count++].text, text);
    for (int i = 0; i < comm_count; i++)
        comms[i].gone = comms[i].gone || comms[i].handle == comm;
    struct comm *c = &comms[comm_count++];
    c->handle = comm;
    snprintf(c->text, sizeof c->text, "%s#%d", text, groups[g].made++);
}

static const char *comm_text(MPI_Comm comm)
{
    for (int i = 0; i < comm_count; i++)
        if (!comms[i].gone && comms[i].handle == comm)
            return comms[i].text;
    /* It was there before the first logged call: the world or self. */
    log_comm(comm, comm);
    return comms[comm_count - 1].text;
}

/* Returns -1 if there is no such rank: the program tries errors too. */
static int world_of(MPI_Comm comm, int rank)
{
    MPI_Group group, world;
    int inter, size, is;
    if (comm == MPI_COMM_NULL)
        return -1;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    if (rank < 0 || rank >= size)
        return -1;
    if (inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &is);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return is;
}

/* --- sends, receives and their requests ------------------------------------------------------- */

static struct request requests[65536];

struct request *log_find(uint64_t key)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (requests[i].used && requests[i].key == key)
            return &requests[i];
    return NULL;
}

void log_keep(uint64_t key, struct request r)
{
    size_t i = 0;
    while (i < sizeof requests / sizeof *requests && requests[i].used)
        i++;
    if (i == sizeof requests / sizeof *requests)
        abort();
    r.key = key;
    r.used = true;
    requests[i] = r;
}

long log_send(MPI_Comm comm, int to, int tag)
{
    long id = new_id();
    if (world_of(comm, to) < 0)
        return 0;
    say("send %ld %s %d %d %d %d\n", id, comm_text(comm), world_rank, world_of(comm, to), tag,
        in_window);
    regtrace_mark_set(1, id);
    return id;
}

long log_receive(MPI_Comm comm, int from)
{
    long id = new_id();
    if (from != MPI_ANY_SOURCE && world_of(comm, from) < 0)
        return 0;
    say("receive %ld %s %d\n", id, comm_text(comm), world_rank);
    return id;
}

void log_done(long id, MPI_Comm comm, const MPI_Status *s)
{
    int cancelled = 0;
    if (id == 0)
        return;
    PMPI_Test_cancelled(s, &cancelled);
    if (cancelled)
        say("cancelled %ld\n", id);
    else
        say("done %ld %d %d %d\n", id, world_of(comm, s->MPI_SOURCE), s->MPI_TAG, in_window);
}

void log_done_known(long id, MPI_Comm comm, int from, int tag)
{
    if (id != 0)
        say("done %ld %d %d %d\n", id, world_of(comm, from), tag, in_window);
}

void log_completed(uint64_t key, const MPI_Status *s)
{
    struct request *r = log_find(key);
    int cancelled = 0;
    if (r == NULL || (r->persistent && r->id == 0))
        return;
    if (s == NULL && r->receives && r->id != 0)
        log_done_known(r->id, r->comm, r->peer, r->tag);
    else if (r->receives)
        log_done(r->id, r->comm, s);
    else if (s != NULL && r->id != 0 && (PMPI_Test_cancelled(s, &cancelled), cancelled))
        say("cancelled %ld\n", r->id);
    r->id = 0;
    r->used = r->persistent;
}
