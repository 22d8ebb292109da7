/* SPDX-License-Identifier: BSD-3-Clause
 * Clock alignment between nodes: one rank of each node and rank 0 exchange messages at MPI's start
 * and end.
 *
 * The offset is rank 0's CLOCK_MONOTONIC minus ours at the same moment, from the exchange with the
 * shortest round trip: the error is at most half of that (Cristian 1989). Ranks of one node share a
 * clock and send nothing: exchanges among oversubscribed ranks were wrong by up to 12 ms.
 *
 * The exchange is collective, and MPI cannot take back a call if a rank is not traced. So the ranks
 * first agree without MPI (agreement.c): no message is sent unless every rank takes part. */
#include "mpi/agreement.h"
#include "mpi/special.h"

#include "base/format/stream.h"
#include "base/hash.h"
#include "mpi/library.h"
#include "mpi/wrapper.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES 200
#define BUDGET_NS 100000000u /* for all nodes together */
#define LEAST_BUDGET_NS 2000000u
enum { TAG_PING = 29001, TAG_RESULT = 29002 };

/* A measurement that a node's representative makes and passes to the other ranks of its node. */
struct measured {
    int64_t offset_ns, error_ns, at_ns;
};
static struct measured first;
static bool have_first;
/* A duplicate of the world, so that our messages cannot match others. Made only if there are
 * several nodes. */
static uint64_t private_comm;

static long number_in(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == '\0')
        return -1;
    long n = strtol(text, &end, 10);
    return *end == '\0' ? n : -1;
}

bool clocksync_one_node_by_launcher(int size)
{
    static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                              "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"};
    if (getenv("REGTRACE_TEST_NODE") != NULL)
        return false;
    for (size_t i = 0; i < sizeof local_sizes / sizeof local_sizes[0]; i++)
        if (number_in(local_sizes[i]) == size)
            return true;
    return number_in("SLURM_STEP_NUM_NODES") == 1;
}

/* FNV-1a of the node's boot id; tests replace it by REGTRACE_TEST_NODE. */
static uint64_t node_hash(void)
{
    char text[128];
    const char *node = getenv("REGTRACE_TEST_NODE");
    ssize_t n = 0;
    if (node != NULL) {
        n = (ssize_t)strnlen(node, sizeof text);
        memcpy(text, node, (size_t)n);
    } else {
        int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            n = read(fd, text, sizeof text);
            (void)close(fd);
        }
    }
    return hash_bytes(HASH_BEGIN, text, n > 0 ? (size_t)n : 0);
}

static void bytes_send(const struct mpi_library *l, const void *data, int n, int to, int tag)
{
    (void)l->Send(data, n, mpi_abi.type_byte, to, tag, private_comm);
}

static void bytes_receive(const struct mpi_library *l, void *data, int n, int from, int tag)
{
    (void)l->Recv(data, n, mpi_abi.type_byte, from, tag, private_comm,
                  (void *)(uintptr_t)mpi_abi.status_ignore);
}

/* Rank 0: answers one representative until a zero tells that it has enough. */
static void serve(const struct mpi_library *l, int rank)
{
    uint64_t more = 1;
    for (;;) {
        bytes_receive(l, &more, sizeof more, rank, TAG_PING);
        if (more == 0)
            return;
        uint64_t now = clock_monotonic_ns();
        bytes_send(l, &now, sizeof now, rank, TAG_PING);
    }
}

static struct measured ask(const struct mpi_library *l, uint64_t budget_ns)
{
    struct measured best = {.error_ns = INT64_MAX};
    uint64_t began = clock_monotonic_ns();
    for (int i = 0; i < TRIES; i++) {
        uint64_t more = 1, theirs = 0;
        uint64_t sent = clock_monotonic_ns();
        bytes_send(l, &more, sizeof more, 0, TAG_PING);
        bytes_receive(l, &theirs, sizeof theirs, 0, TAG_PING);
        uint64_t back = clock_monotonic_ns();
        int64_t half = (int64_t)(back - sent) / 2;
        if (half < best.error_ns) {
            int64_t middle = (int64_t)sent + half;
            best = (struct measured){
                .offset_ns = (int64_t)theirs - middle, .error_ns = half + 1, .at_ns = middle};
        }
        if (back - began > budget_ns)
            break;
    }
    uint64_t enough = 0;
    bytes_send(l, &enough, sizeof enough, 0, TAG_PING);
    return best;
}

static void store(const struct measured *m, bool final)
{
    struct stream_header *h = recorder_stream.header;
    if (!final) {
        first = *m;
        have_first = true;
    }
    if (h == NULL || recorder_stream.base == NULL)
        return;
    int64_t start = (int64_t)h->clock_start.monotonic_ns;
    double drift = 0;
    if (final && have_first && m->at_ns > first.at_ns + 1000000)
        drift = (double)(m->offset_ns - first.offset_ns) / (double)(m->at_ns - first.at_ns);
    const struct measured *from = have_first ? &first : m;
    h->clock_drift = drift;
    atomic_store(&h->clock_offset_ns,
                 from->offset_ns - (int64_t)(drift * (double)(from->at_ns - start)));
    atomic_store(&h->clock_error_ns, m->error_ns > from->error_ns ? m->error_ns : from->error_ns);
}

static int representative(const uint64_t *nodes, int rank)
{
    int i = 0;
    while (nodes[i] != nodes[rank])
        i++;
    return i;
}

/* Exchanges messages, one node after the other. Every rank takes part. */
static void exchange(const struct mpi_library *l, const uint64_t *nodes, int rank, int size,
                     bool final)
{
    uint64_t others = 0;
    for (int i = 1; i < size; i++)
        others += representative(nodes, i) == i;
    uint64_t budget = BUDGET_NS / others;
    budget = budget < LEAST_BUDGET_NS ? LEAST_BUDGET_NS : budget;
    int mine = representative(nodes, rank);
    struct measured m = {.at_ns = (int64_t)clock_monotonic_ns()};
    for (int i = 1; rank == 0 && i < size; i++)
        if (representative(nodes, i) == i)
            serve(l, i);
    if (mine != 0 && mine == rank) {
        m = ask(l, budget);
        for (int i = rank + 1; i < size; i++)
            if (nodes[i] == nodes[rank])
                bytes_send(l, &m, sizeof m, i, TAG_RESULT);
    } else if (mine != 0) {
        bytes_receive(l, &m, sizeof m, mine, TAG_RESULT);
    }
    store(&m, final);
}

static bool several_nodes(const uint64_t *nodes, int size)
{
    for (int i = 1; i < size; i++)
        if (nodes[i] != nodes[0])
            return true;
    return false;
}

/* Maps room for every rank's node, before the ranks agree. Does not use malloc. */
static uint64_t *make_room(int size)
{
    void *memory = mmap(NULL, (size_t)size * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void gather_nodes(const struct mpi_library *l, uint64_t *memory, int size)
{
    size_t bytes = (size_t)size * sizeof(uint64_t);
    uint64_t mine = node_hash(), type = mpi_abi.type_byte;
    if (l->Allgather(&mine, sizeof mine, type, memory, sizeof mine, type, mpi_abi.comm_world) != 0)
        memset(memory, 0, bytes);
}

void clocksync_measure(int rank, int size, bool final)
{
    static uint64_t *nodes; /* hashes of all ranks' nodes; the final measurement uses them again */
    const struct mpi_library *l = mpi_library();
    size_t bytes = (size_t)size * sizeof *nodes;
    if (size < 2 || number_in("REGTRACE_CLOCK_SYNC") == 0 || clocksync_one_node_by_launcher(size) ||
        (final && nodes == NULL) || l->Allgather == NULL || l->Comm_dup == NULL ||
        l->Send == NULL || l->Recv == NULL)
        return;
    if (!final) {
        nodes = make_room(size);
        if (nodes == NULL)
            return;
        if (!agreement_all_here(rank, size)) {
            (void)munmap(nodes, bytes);
            nodes = NULL;
            return;
        }
        gather_nodes(l, nodes, size);
        if (several_nodes(nodes, size) && l->Comm_dup(mpi_abi.comm_world, &private_comm) != 0)
            private_comm = 0;
    }
    if (several_nodes(nodes, size) && private_comm != 0) {
        exchange(l, nodes, rank, size, final);
        if (final)
            (void)l->Comm_free(&private_comm);
    }
    if (final) {
        (void)munmap(nodes, bytes);
        nodes = NULL;
    }
}
