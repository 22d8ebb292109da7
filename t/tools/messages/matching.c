/* SPDX-License-Identifier: BSD-3-Clause
 * Matches messages of events that are written down here, and compares the partners with those that
 * MPI's rule gives, derived by hand. This program defines the functions of
 * tools/messages/comm_tables.h and recorded_until.h itself, without files: three processes of two
 * threads. Process 0 has streams 0 and 1, process 1 has 2 and 3, process 2 has 4 and 5. */
#include "tools/messages/messages.h"
#include "tools/messages/recorded_until.h"

#include "t/tap.h"

enum { PROCESSES = 3, STREAMS = 6, WORLD = 0, INTER = 1, COMMS = 2 };

/* --- stand-ins for comm_tables.h and recorded_until.h ----------------------------------------- */

static int64_t whole[PROCESSES];
static const struct thread_stream streams[STREAMS];
static const struct comm comms[COMMS] = {
    [WORLD] = {.identity = 1, .sides = 1, .size = {3, 0}},
    [INTER] = {.identity = 2, .sides = 2, .size = {1, 2}}, /* process 0; processes 1 and 2 */
};

const struct thread_stream *streams_all(const struct streams *s, uint32_t *count)
{
    (void)s;
    *count = STREAMS;
    return streams;
}
const struct comm *comms_all(const struct comms *c, uint32_t *count)
{
    (void)c;
    *count = COMMS;
    return comms;
}
uint32_t comms_processes(const struct comms *c)
{
    (void)c;
    return PROCESSES;
}
uint32_t comms_process_of(const struct comms *c, uint32_t stream)
{
    (void)c;
    return stream / 2;
}
/* Identifies the process; only the stand-ins read it. */
const struct rt_rank *comms_file(const struct comms *c, uint32_t process)
{
    (void)c;
    return (const struct rt_rank *)(const void *)&whole[process];
}
int32_t comms_world_rank(const struct comms *c, uint32_t process)
{
    (void)c;
    return (int32_t)process;
}
/* Communicator 1 is the world, 2 the intercommunicator; 3 is unknown. */
uint32_t comms_find(const struct comms *c, uint32_t process, uint32_t id, uint32_t *side)
{
    (void)c;
    *side = id == 2 && process > 0;
    return id == 1 ? WORLD : id == 2 ? INTER : NO_COMM;
}
uint32_t comms_process(const struct comms *c, uint32_t comm, uint32_t side, int32_t rank)
{
    (void)c;
    if (rank < 0 || side >= comms[comm].sides || (uint32_t)rank >= comms[comm].size[side])
        return NO_PROCESS;
    return (uint32_t)rank + (comm == INTER && side == 1);
}
int64_t whole_until(const struct rt_rank *file, int32_t thread, int32_t window, int level)
{
    (void)thread;
    (void)window;
    (void)level;
    return *(const int64_t *)(const void *)file;
}

/* --- script of events ------------------------------------------------------------------------- */

static struct messages *messages;
static char got[1024];

static uint32_t function_number(const char *name)
{
    for (uint32_t i = 0; i < event_mpi_functions; i++)
        if (strcmp(event_mpi_name(i) + strlen("MPI_"), name) == 0)
            return i;
    diag("no function %s", name);
    abort();
}

static void event(int64_t ns, uint32_t stream, uint32_t code, uint64_t a, uint64_t b)
{
    struct rt_error e = {{0}};
    const struct stream_record r = {
        .ns = ns,
        .stream = stream,
        .event = {.code = code, .thread = (int32_t)stream, .a = a, .b = b}};
    if (messages_take(messages, &r, &e) != 0)
        abort();
}

static uint64_t peer_tag(int peer, int tag)
{
    return (uint32_t)peer | (uint64_t)(uint32_t)tag << 32;
}

static bool numbered; /* the recordings have numbers */

static void come_up(int64_t ns, uint32_t stream)
{
    event(ns, stream, EVENT_MPI_ENTER(function_number("Init")), 0, 0);
    event(ns, stream, EVENT_MPI_LEAVE(function_number("Init")), 0, 0);
    event(ns, stream, EV_MPI_READY, stream / 2 | (uint64_t)PROCESSES << 32,
          3 | (uint64_t)numbered << 32);
}

/* Plays a line of a script: time, stream, kind, and the fields of the kind:
 *   > FUNCTION PEER TAG BYTES COMM   enter (-1 any, -2 MPI_PROC_NULL)
 *   < FUNCTION HANDLE                leave
 *   = FUNCTION PEER TAG BYTES HANDLE enter, and leave 1 ns later, in the world
 *   ! HANDLE SOURCE TAG BYTES        a receive is complete (HANDLE 0: that of the call)
 *   . HANDLE                         another request is complete
 *   x HANDLE                         a request is cancelled
 *   s HANDLE                         a persistent request starts
 *   r SOURCE TAG ROOM                the receiving side of a call that also sends
 *   m HANDLE                         the receive of a matched probe's message starts
 *   # PEER TAG NUMBER                number of the send that follows
 *   @ SOURCE TAG NUMBER              number of the receive that follows
 *   $ PEER TAG NUMBER                number of the partitioned send that follows
 *   & SOURCE TAG NUMBER              number of the partitioned receive that follows
 *   ? SOURCE TAG MARK                a mark instead of the number
 *   l MARK NUMBER                    the number of an earlier mark
 *   [  ]                             a window opens, closes
 *   i                                MPI is up */
static void play_line(const char *line)
{
    long long ns;
    unsigned stream, handle = 0;
    char what, name[32] = "";
    int at, x[4] = {0};
    if (sscanf(line, "%lld %u %c%n", &ns, &stream, &what, &at) != 3)
        abort();
    line += at;
    if (strchr("><=", what) != NULL && sscanf(line, "%31s%n", name, &at) == 1)
        line += at;
    (void)sscanf(line, "%d %d %d %d", &x[0], &x[1], &x[2], &x[3]);
    handle = (unsigned)x[0];
    switch (what) {
    case '>':
    case '=':
        event(ns, stream, EVENT_MPI_ENTER(function_number(name)), peer_tag(x[0], x[1]),
              (uint64_t)x[2] | (uint64_t)(what == '=' ? 1 : x[3]) << 48);
        if (what == '=')
            event(ns + 1, stream, EVENT_MPI_LEAVE(function_number(name)), (uint64_t)x[3], 0);
        break;
    case '<': event(ns, stream, EVENT_MPI_LEAVE(function_number(name)), handle, 0); break;
    case '!':
        event(ns, stream, EV_MPI_COMPLETE, handle, peer_tag(x[1], x[2]));
        event(ns, stream, EV_MPI_BYTES, handle, (uint64_t)x[3]);
        break;
    case '.': event(ns, stream, EV_MPI_COMPLETE, handle, peer_tag(INT32_MIN, INT32_MIN)); break;
    case 'x': event(ns, stream, EV_MPI_CANCELLED, handle, 0); break;
    case 's': event(ns, stream, EV_MPI_STARTED, handle, 0); break;
    case 'r': event(ns, stream, EV_MPI_RECEIVE, peer_tag(x[0], x[1]), (uint64_t)x[2]); break;
    case 'm': event(ns, stream, EV_MPI_MESSAGE, handle, 0); break;
    case '#':
    case '$':
        event(ns, stream, EV_MPI_SEND_NUMBER, peer_tag(x[0], x[1]),
              (uint64_t)x[2] | (uint64_t)(what == '$') << 46 | UINT64_C(1) << 48);
        break;
    case '@':
    case '&':
    case '?':
        event(ns, stream, EV_MPI_RECEIVE_NUMBER, peer_tag(x[0], x[1]),
              (uint64_t)x[2] | (uint64_t)(what == '&') << 46 | (uint64_t)(what == '?') << 47 |
                  UINT64_C(1) << 48);
        break;
    case 'l': event(ns, stream, EV_MPI_NUMBER_LATER, handle, (uint64_t)x[1]); break;
    case '[': event(ns, stream, EV_WINDOW_OPEN, 0, 0); break;
    case ']': event(ns, stream, EV_WINDOW_CLOSE, 0, 0); break;
    case 'i': come_up(ns, stream); break;
    default: abort();
    }
}

/* Notes "10-30": the call that began at 30 received what the call at 10 sent. */
static void found(void *context, const struct message *m)
{
    (void)context;
    size_t n = strlen(got);
    snprintf(got + n, sizeof got - n, "%" PRId64 "-%" PRId64 " ", m->send_ns, m->receive_ns);
}

static const char *const reasons[UNMATCHED_REASONS] = {
    [UNMATCHED_ALONE] = "alone",           [UNMATCHED_UNIDENTIFIED] = "unidentified",
    [UNMATCHED_CONCURRENT] = "concurrent", [UNMATCHED_UNLIKE] = "unlike",
    [UNMATCHED_UNFINISHED] = "unfinished", [UNMATCHED_UNNUMBERED] = "unnumbered"};

/* late: a line of the script brings up MPI in process 1. until: the time up to which the recording
 * of process 1 is complete; 0: to its end. */
struct script {
    const char *name;
    const char *lines; /* separated by semicolons */
    /* The matched messages, then "REASON SENDS/RECEIVES" for those without a partner. */
    const char *want;
    int64_t until;
    bool late;
};

/* Those that were told one by one. */
static struct unmatched told;

static void lone(void *context, const struct unmatched_end *x)
{
    (void)context;
    (x->is_send ? told.sends : told.receives)[x->why]++;
}

static void play(const struct script *s, bool with_numbers)
{
    struct rt_error e = {{0}};
    struct unmatched left;
    char lines[2048];
    got[0] = '\0';
    numbered = with_numbers;
    for (int i = 0; i < PROCESSES; i++)
        whole[i] = i == 1 && s->until != 0 ? s->until : INT64_MAX;
    if (messages_open(&messages, NULL, NULL, found, NULL, &e) != 0)
        abort();
    told = (struct unmatched){{0}, {0}};
    messages_tell_unmatched(messages, lone);
    for (uint32_t i = 0; i < PROCESSES; i++)
        if (i != 1 || !s->late)
            come_up(1, 2 * i);
    snprintf(lines, sizeof lines, "%s", s->lines);
    for (char *rest = lines, *line; (line = strsep(&rest, ";")) != NULL;)
        play_line(line);
    if (messages_end(messages, &left, &e) != 0)
        abort();
    messages_close(messages);
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        if (left.sends[i] != 0 || left.receives[i] != 0) {
            size_t n = strlen(got);
            snprintf(got + n, sizeof got - n, "%s %" PRIu64 "/%" PRIu64 " ", reasons[i],
                     left.sends[i], left.receives[i]);
        }
    size_t n = strlen(got);
    if (n != 0)
        got[n - 1] = '\0';
    if (memcmp(&told, &left, sizeof left) != 0)
        snprintf(got, sizeof got, "other ends are told than are counted");
    is_str(got, s->want, s->name);
}

/* --- MPI's rules ------------------------------------------------------------------------------ */

/* Two sends from 0 to 1 with the same tag and size: only their order tells them apart. */
#define TWO_SENDS "10 0 = Send 1 7 100 0; 12 0 = Send 1 7 100 0;"

static const struct script scripts[] = {
    {"a send and a receive",
     "10 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1; 25 2 ! 0 0 7 100; 26 2 < Recv 0", "10-20", 0,
     0},
    {"two that are alike do not overtake, though the first request is complete last",
     "10 0 = Isend 1 7 100 51; 12 0 = Isend 1 7 100 52; 20 2 = Irecv 0 7 999 61;"
     "22 2 = Irecv 0 7 999 62; 30 2 ! 61 0 7 100; 31 2 ! 62 0 7 100; 40 0 . 52; 41 0 . 51",
     "10-20 12-22", 0, 0},
    {"other tags, ranks and communicators are other ways",
     "10 0 = Send 1 7 100 0; 12 0 = Send 1 8 100 0; 14 0 > Send 0 7 100 2; 15 0 < Send 0;"
     "16 4 = Send 1 7 100 0; 20 2 > Recv 0 7 999 2; 21 2 ! 0 0 7 100; 22 2 < Recv 0;"
     "30 2 > Recv 2 7 999 1; 31 2 ! 0 2 7 100; 32 2 < Recv 0;"
     "40 2 > Recv 0 8 999 1; 41 2 ! 0 0 8 100; 42 2 < Recv 0;"
     "50 2 > Recv 0 7 999 1; 51 2 ! 0 0 7 100; 52 2 < Recv 0",
     "14-20 16-30 12-40 10-50", 0, 0},
    {"receives that complete in another order than they were posted in",
     TWO_SENDS "20 2 = Irecv 0 7 999 61; 22 2 = Irecv 0 7 999 62; 30 2 ! 62 0 7 100;"
               "31 2 ! 61 0 7 100",
     "10-20 12-22", 0, 0},
    {"... three of them, the last first",
     TWO_SENDS "14 0 = Send 1 7 100 0; 20 2 = Irecv 0 7 999 61; 22 2 = Irecv 0 7 999 62;"
               "24 2 = Irecv 0 7 999 63; 30 2 ! 63 0 7 100; 31 2 ! 62 0 7 100; 32 2 ! 61 0 7 100",
     "10-20 12-22 14-24", 0, 0},
    {"... where the first takes any source",
     TWO_SENDS "20 2 = Irecv -1 7 999 61; 22 2 = Irecv 0 7 999 62; 30 2 ! 62 0 7 100;"
               "31 2 ! 61 0 7 100",
     "10-20 12-22", 0, 0},
    {"... where the first takes any tag",
     TWO_SENDS "20 2 = Irecv 0 -1 999 61; 22 2 = Irecv 0 7 999 62; 30 2 ! 62 0 7 100;"
               "31 2 ! 61 0 7 100",
     "10-20 12-22", 0, 0},
    {"a wildcard that has taken something else does not hold others up",
     "10 0 = Send 1 7 100 0; 12 4 = Send 1 8 100 0; 20 2 = Irecv -1 -1 999 61;"
     "22 2 = Irecv 0 7 999 62; 30 2 ! 62 0 7 100; 31 2 ! 61 2 8 100",
     "12-20 10-22", 0, 0},
    {"partitioned ones are not counted",
     "8 0 = Psend_init 1 7 100 51; 9 0 > Start 0 0 0 1; 9 0 s 51; 9 0 < Start 0;" TWO_SENDS
     "15 2 = Precv_init 0 7 100 61; 16 2 > Start 0 0 0 1; 17 2 s 61; 18 2 < Start 0;"
     "20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 100; 22 2 < Recv 0; 23 2 > Recv 0 7 999 1;"
     "24 2 ! 0 0 7 100; 25 2 < Recv 0; 30 2 > Wait 0 0 0 1; 31 2 ! 61 0 7 100; 32 2 < Wait 0",
     "10-20 12-23 unnumbered 1/1", 0, 0},
    {"a wildcard that never completes may have taken it: nothing is reported",
     "10 0 = Send 1 7 100 0; 20 2 = Irecv -1 -1 999 61; 22 2 = Irecv 0 7 999 62;"
     "30 2 ! 62 0 7 100",
     "alone 1/0 unfinished 0/2", 0, 0},
    {"... one of another tag cannot have",
     "10 0 = Send 1 7 100 0; 20 2 = Irecv -1 8 999 61; 22 2 = Irecv 0 7 999 62;"
     "30 2 ! 62 0 7 100",
     "10-22 unfinished 0/1", 0, 0},
    {"a cancelled receive has taken nothing",
     "10 0 = Send 1 7 100 0; 20 2 = Irecv -1 -1 999 61; 22 2 = Irecv 0 7 999 62;"
     "30 2 ! 62 0 7 100; 40 2 = Cancel 0 0 0 61; 42 2 x 61",
     "10-22", 0, 0},
    {"a cancelled send makes its queue uncertain: nothing tells which send takes its place",
     "10 0 = Isend 1 7 100 51; 12 0 = Cancel 0 0 0 51; 14 0 x 51; 16 0 = Send 1 7 100 0;"
     "20 2 > Recv 0 7 999 1; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "alone 0/1 unfinished 1/0 unnumbered 1/0", 0, 0},
    {"... and no other queue",
     "10 0 = Isend 1 7 100 51; 12 0 = Cancel 0 0 0 51; 14 0 x 51; 16 0 = Send 1 8 100 0;"
     "20 2 > Recv 0 8 999 1; 25 2 ! 0 0 8 100; 26 2 < Recv 0",
     "16-20 unfinished 1/0", 0, 0},
    {"a clock that is late: receives are seen before their sends",
     "10 2 > Recv 0 7 999 1; 11 2 ! 0 0 7 100; 12 2 < Recv 0; 14 2 = Irecv 0 7 999 61;"
     "16 2 ! 61 0 7 100; 20 0 = Send 1 7 100 0; 22 0 = Isend 1 7 100 51; 30 0 . 51",
     "20-10 22-14", 0, 0},
    {"what is sent while the receiver is still in MPI_Init",
     "10 0 = Send 1 7 100 0; 15 2 i; 20 0 = Send 1 7 100 0; 30 2 > Recv 0 7 999 1;"
     "31 2 ! 0 0 7 100; 32 2 < Recv 0; 40 2 > Recv 0 7 999 1; 41 2 ! 0 0 7 100; 42 2 < Recv 0",
     "10-30 20-40", 0, 1},
    {"what is received from one that is still in MPI_Init, as clocks are off",
     "10 0 > Recv 1 7 999 1; 11 0 ! 0 1 7 100; 12 0 < Recv 0; 15 2 i; 20 2 = Send 0 7 100 0;"
     "30 2 = Send 0 7 100 0; 40 0 > Recv 1 7 999 1; 41 0 ! 0 1 7 100; 42 0 < Recv 0",
     "20-10 30-40", 0, 1},
    {"a send whose request is freed is received, and its handle is another's",
     "10 0 = Isend 1 7 100 51; 12 0 = Request_free 0 0 0 51; 14 0 = Irecv 1 9 999 51;"
     "16 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 100; 22 2 < Recv 0;"
     "30 2 > Recv 0 7 999 1; 31 2 ! 0 0 7 100; 32 2 < Recv 0; 40 2 = Send 0 9 100 0;"
     "50 0 ! 51 1 9 100",
     "10-20 16-30 40-14", 0, 0},
    {"what a receive got whose request is freed nobody knows: those after it that may be the same "
     "wait",
     TWO_SENDS "14 0 = Send 1 8 100 0; 20 2 = Irecv 0 7 999 61; 22 2 = Request_free 0 0 0 61;"
               "24 2 = Irecv 0 8 999 61; 26 2 = Irecv 0 7 999 62; 30 2 ! 61 0 8 100;"
               "31 2 ! 62 0 7 100",
     "14-24 alone 2/0 unfinished 0/2", 0, 0},
    {"persistent ones, each start",
     "10 0 = Send_init 1 7 100 51; 12 0 > Start 0 0 0 1; 13 0 s 51; 14 0 < Start 0; 16 0 . 51;"
     "18 0 > Start 0 0 0 1; 19 0 s 51; 20 0 < Start 0; 22 0 . 51;"
     "30 2 = Recv_init 0 7 999 61; 32 2 > Start 0 0 0 1; 33 2 s 61; 34 2 < Start 0;"
     "36 2 ! 61 0 7 100; 40 2 > Start 0 0 0 1; 41 2 s 61; 42 2 < Start 0; 46 2 ! 61 0 7 100",
     "12-32 18-40", 0, 0},
    {"... two of one MPI_Startall in its order, complete in the other one",
     "10 0 = Send 1 7 10 0; 12 0 = Send 1 7 20 0; 14 2 = Recv_init 0 7 999 61;"
     "16 2 = Recv_init 0 7 999 62; 20 2 > Startall 0 0 0 1; 21 2 s 61; 21 2 s 62;"
     "22 2 < Startall 0; 30 2 ! 62 0 7 20; 31 2 ! 61 0 7 10",
     "10-20 12-20", 0, 0},
    {"... freed and made anew with another tag",
     "10 0 = Send_init 1 7 100 51; 12 0 = Request_free 0 0 0 51; 14 0 = Send_init 1 8 100 51;"
     "16 0 > Start 0 0 0 1; 17 0 s 51; 18 0 < Start 0; 20 0 . 51;"
     "30 2 > Recv 0 8 999 1; 31 2 ! 0 0 8 100; 32 2 < Recv 0",
     "16-30", 0, 0},
    {"... freed by another thread, with the handle of a receive that is complete, but not recorded "
     "so",
     "10 0 = Send 1 7 100 0; 20 2 = Irecv 0 7 999 61; 22 2 > Wait 0 0 0 0;"
     "24 3 = Recv_init 0 8 999 61; 26 3 = Request_free 0 0 0 61; 30 2 ! 61 0 7 100; 31 2 < Wait 0",
     "10-20", 0, 0},
    {"a matched probe takes the first, though it is received last",
     TWO_SENDS "20 2 = Mprobe 0 7 0 71; 22 2 > Recv 0 7 999 1; 23 2 ! 0 0 7 100; 24 2 < Recv 0;"
               "30 2 > Mrecv 0 0 0 1; 31 2 m 71; 32 2 ! 0 0 7 100; 33 2 < Mrecv 0",
     "10-20 12-22", 0, 0},
    {"... by MPI_Improbe and MPI_Imrecv, after one that found nothing",
     "5 2 = Improbe 0 7 0 0;" TWO_SENDS "20 2 = Improbe -1 -1 0 71; 22 2 > Imrecv 0 0 0 1;"
     "23 2 m 71; 24 2 < Imrecv 61; 26 2 > Recv 0 7 999 1; 27 2 ! 0 0 7 100; 28 2 < Recv 0;"
     "40 2 ! 61 0 7 100",
     "10-20 12-26", 0, 0},
    {"both ways at once",
     "10 0 > Sendrecv 1 7 100 1; 11 2 > Sendrecv 0 8 200 1; 20 0 ! 0 1 8 200;"
     "21 0 < Sendrecv 0; 22 2 ! 0 0 7 100; 23 2 < Sendrecv 0",
     "10-11 11-10", 0, 0},
    {"... to and from nobody",
     "10 0 > Sendrecv -2 7 100 1; 11 0 ! 0 1 8 200; 12 0 < Sendrecv 0;"
     "10 2 > Sendrecv 0 8 200 1; 13 2 ! 0 -2 -1 0; 14 2 < Sendrecv 0; 20 0 = Send -2 7 100 0",
     "10-10", 0, 0},
    {"... by one request for both",
     "10 0 = Isendrecv 1 7 100 51; 12 2 = Isendrecv 0 8 200 61; 20 2 ! 61 0 7 100;"
     "22 0 ! 51 1 8 200",
     "10-12 12-10", 0, 0},
    {"... that does not say what it has received: what the call names, if it has room",
     "10 0 = Send 1 7 100 0; 12 0 = Send 1 7 100 0; 14 2 > Isendrecv 0 8 200 1; 15 2 r 0 7 100;"
     "16 2 < Isendrecv 61; 20 2 . 61; 22 2 > Recv 0 7 999 1; 23 2 ! 0 0 7 100; 24 2 < Recv 0;"
     "30 0 > Recv 1 8 999 1; 31 0 ! 0 1 8 200; 32 0 < Recv 0",
     "10-14 12-22 14-30", 0, 0},
    {"... without room, and from any",
     "10 0 = Send 1 7 100 0; 11 0 = Send 1 8 100 0; 14 2 > Isendrecv -2 8 200 1; 15 2 r 0 7 99;"
     "16 2 < Isendrecv 61; 20 2 . 61; 22 2 > Isendrecv -2 8 200 1; 23 2 r -1 8 100;"
     "24 2 < Isendrecv 61; 26 2 . 61; 30 2 > Isendrecv -2 8 200 1; 31 2 r -2 -1 100;"
     "32 2 < Isendrecv 61; 33 2 . 61",
     "alone 1/0 unlike 1/1 unfinished 0/1", 0, 0},
    {"a handle that another thread has before the last one's completion is reported",
     "10 2 = Irecv 0 7 999 61; 12 2 > Wait 0 0 0 1; 14 3 = Irecv 0 8 999 61;"
     "16 3 > Wait 0 0 0 1; 18 3 ! 61 0 8 100; 19 3 < Wait 0; 20 2 ! 61 0 7 100; 21 2 < Wait 0;"
     "5 0 = Send 1 7 100 0; 7 0 = Send 1 8 100 0",
     "5-10 7-14", 0, 0},
    {"two threads that send the same at once: their order is not known",
     "10 0 > Send 1 7 100 1; 11 1 > Send 1 7 100 1; 12 0 < Send 0; 13 1 < Send 0;"
     "20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 100; 22 2 < Recv 0; 30 2 > Recv 0 7 999 1;"
     "31 2 ! 0 0 7 100; 32 2 < Recv 0",
     "concurrent 2/2", 0, 0},
    {"... that receive it at once",
     TWO_SENDS "20 2 > Recv 0 7 999 1; 21 3 > Recv 0 7 999 1; 22 2 ! 0 0 7 100; 23 2 < Recv 0;"
               "24 3 ! 0 0 7 100; 25 3 < Recv 0",
     "concurrent 2/2", 0, 0},
    {"... one behind the other: it is",
     "10 0 = Send 1 7 100 0; 12 1 = Send 1 7 100 0; 20 3 > Recv 0 7 999 1; 21 3 ! 0 0 7 100;"
     "22 3 < Recv 0; 30 2 > Recv 0 7 999 1; 31 2 ! 0 0 7 100; 32 2 < Recv 0",
     "10-20 12-30", 0, 0},
    {"sizes that differ: not these",
     TWO_SENDS "20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 50; 22 2 < Recv 0; 30 2 > Recv 0 7 999 1;"
               "31 2 ! 0 0 7 100; 32 2 < Recv 0",
     "12-30 unlike 1/1", 0, 0},
    {"a rank that is killed: what was sent to it, or is awaited from it, has no partner",
     "10 0 = Send 1 7 100 0; 12 0 = Isend 1 7 100 51; 20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 100;"
     "22 2 < Recv 0; 24 2 > Recv 0 7 999 1; 40 0 = Send 1 7 100 0; 41 0 = Irecv 1 8 999 52;"
     "42 4 = Send 1 7 100 0",
     "10-20 alone 3/0 unfinished 0/2", 0, 0},
    {"a rank that has left its windows: nothing of it from there on",
     TWO_SENDS "20 2 > Recv 0 7 999 1; 21 2 ! 0 0 7 100; 22 2 < Recv 0; 30 2 > Recv 0 7 999 1;"
               "31 2 ! 0 0 7 100; 32 2 < Recv 0; 33 2 = Send 0 7 100 0",
     "10-20 alone 1/0 unnumbered 1/1", 25, 0},
    {"a communicator that is not known",
     "10 0 > Send 1 7 100 3; 11 0 < Send 0; 20 2 > Recv 0 7 999 3; 21 2 ! 0 0 7 100;"
     "22 2 < Recv 0",
     "unidentified 1/1", 0, 0},
    {"a call inside another one",
     "10 0 > Bcast 0 0 100 1; 11 0 = Send 1 7 100 0; 13 0 < Bcast 0;"
     "20 2 > Wait 0 0 0 1; 21 2 > Recv 0 7 999 1; 22 2 ! 0 0 7 100; 23 2 < Recv 0; 24 2 < Wait 0",
     "11-21", 0, 0},
};

/* --- numbers ---------------------------------------------------------------------------------- */

static const struct script numbered_scripts[] = {
    {"the number alone says which belong together",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1; 25 2 @ 0 7 5; 25 2 ! 0 0 7 100;"
     "26 2 < Recv 0",
     "10-20", 0, 0},
    {"numbers go on in a window",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 12 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1;"
     "25 2 @ 0 7 6; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "12-20 alone 1/0", 0, 0},
    {"... not beyond it",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 11 0 ]; 12 0 [; 13 0 = Send 1 7 100 0;"
     "20 2 > Recv 0 7 999 1; 25 2 @ 0 7 6; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "alone 1/1 unnumbered 1/0", 0, 0},
    {"keys of other tags count apart",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 11 0 # 1 8 50; 12 0 = Send 1 8 100 0;"
     "14 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1; 25 2 @ 0 7 6; 25 2 ! 0 0 7 100; 26 2 < Recv 0;"
     "30 2 > Recv 0 8 999 1; 35 2 @ 0 8 50; 35 2 ! 0 0 8 100; 36 2 < Recv 0",
     "14-20 12-30 alone 1/0", 0, 0},
    {"a receive that was posted outside the window",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 20 2 > Wait 0 0 0 1; 25 2 @ 0 7 5; 25 2 ! 61 0 7 100;"
     "26 2 < Wait 0",
     "10-20", 0, 0},
    {"a persistent send that was made outside the window",
     "10 0 > Start 0 0 0 1; 11 0 # 1 7 5; 11 0 s 51; 12 0 < Start 0; 20 2 > Recv 0 7 999 1;"
     "25 2 @ 0 7 5; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "10-20", 0, 0},
    {"a number that comes after the receive",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 20 2 > Wait 0 0 0 1; 25 2 ? 0 7 3; 25 2 ! 61 0 7 100;"
     "26 2 < Wait 0; 40 2 l 3 5",
     "10-20", 0, 0},
    {"... before it, by another thread",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 15 3 l 3 5; 20 2 > Wait 0 0 0 1; 25 2 ? 0 7 3;"
     "25 2 ! 61 0 7 100; 26 2 < Wait 0",
     "10-20", 0, 0},
    {"... or never",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 20 2 > Wait 0 0 0 1; 25 2 ? 0 7 3; 25 2 ! 61 0 7 100;"
     "26 2 < Wait 0",
     "alone 1/0 unnumbered 0/1", 0, 0},
    {"a request of an earlier window is another's",
     "10 2 [; 11 2 = Irecv 0 8 999 61; 12 2 ]; 20 2 [; 21 2 = Isend 0 7 100 61; 25 2 . 61",
     "unfinished 0/1 unnumbered 1/0", 0, 0},
    {"a send that had failed has no receive",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 12 0 # 1 7 5; 12 0 = Send 1 7 100 0;"
     "20 2 > Recv 0 7 999 1; 25 2 @ 0 7 5; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "12-20", 0, 0},
    {"two threads that send the same at once: their order is not known",
     "9 0 # 1 7 0; 10 0 > Send 1 7 100 1; 10 1 # 1 7 1; 11 1 > Send 1 7 100 1; 12 0 < Send 0;"
     "13 1 < Send 0; 20 2 > Recv 0 7 999 1; 21 2 @ 0 7 0; 21 2 ! 0 0 7 100; 22 2 < Recv 0",
     "alone 1/0 concurrent 1/1", 0, 0},
    {"sizes that differ: not these",
     "9 0 # 1 7 0; " TWO_SENDS "20 2 > Recv 0 7 999 1; 21 2 @ 0 7 0; 21 2 ! 0 0 7 50;"
     "22 2 < Recv 0; 30 2 > Recv 0 7 999 1; 31 2 ! 0 0 7 100; 32 2 < Recv 0",
     "12-30 unlike 1/1", 0, 0},
    {"a partitioned message, whose requests are made in the window",
     "10 0 = Psend_init 1 7 100 51; 12 0 > Start 0 0 0 1; 13 0 $ 1 7 9; 13 0 s 51; 14 0 < Start 0;"
     "20 2 = Precv_init 0 7 100 61; 22 2 > Start 0 0 0 1; 23 2 s 61; 24 2 < Start 0;"
     "30 2 > Wait 0 0 0 1; 31 2 & 0 7 9; 31 2 ! 61 0 7 100; 32 2 < Wait 0",
     "12-22", 0, 0},
    {"... or outside of it: other messages of their key have numbers of their own",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 12 0 > Start 0 0 0 1; 13 0 $ 1 7 9; 13 0 s 51;"
     "14 0 < Start 0; 16 0 = Send 1 7 100 0; 20 2 > Recv 0 7 999 1; 25 2 @ 0 7 6; 25 2 ! 0 0 7 100;"
     "26 2 < Recv 0; 30 2 > Wait 0 0 0 1; 31 2 & 0 7 9; 31 2 ! 61 0 7 100; 32 2 < Wait 0",
     "16-20 12-30 alone 1/0", 0, 0},
    {"... and have the same number",
     "12 0 > Start 0 0 0 1; 13 0 $ 1 7 9; 13 0 s 51; 14 0 < Start 0; 20 2 > Recv 0 7 999 1;"
     "25 2 @ 0 7 9; 25 2 ! 0 0 7 100; 26 2 < Recv 0",
     "alone 1/1", 0, 0},
    {"... of which one thread sends while another sends",
     "9 0 # 1 7 0; 10 0 > Send 1 7 100 1; 11 1 > Start 0 0 0 1; 12 1 $ 1 7 9; 12 1 s 51;"
     "13 1 < Start 0; 14 0 < Send 0; 20 2 > Recv 0 7 999 1; 21 2 @ 0 7 0; 21 2 ! 0 0 7 100;"
     "22 2 < Recv 0; 30 2 > Wait 0 0 0 1; 31 2 & 0 7 9; 31 2 ! 61 0 7 100; 32 2 < Wait 0",
     "10-20 11-30", 0, 0},
    {"... without numbers: they do not take those of others",
     "10 0 # 1 7 5; 10 0 = Send 1 7 100 0; 12 0 = Psend_init 1 7 100 51; 14 0 > Start 0 0 0 1;"
     "15 0 s 51; 16 0 < Start 0; 17 0 = Send 1 7 100 0; 20 2 = Precv_init 0 7 100 61;"
     "22 2 > Start 0 0 0 1; 23 2 s 61; 24 2 < Start 0; 25 2 @ 0 7 6; 25 2 ! 62 0 7 100;"
     "30 2 > Wait 0 0 0 1; 31 2 ! 61 0 7 100; 32 2 < Wait 0",
     "17-25 alone 1/0 unnumbered 1/1", 0, 0},
    {"a communicator that is not known: each receive counts once, and no probe that finds nothing",
     "10 2 > Irecv 0 7 999 3; 12 2 < Irecv 61; 25 2 @ 0 7 5; 25 2 ! 61 0 7 100;"
     "30 2 > Recv 0 8 999 3; 31 2 @ 0 8 5; 31 2 ! 0 0 8 100; 32 2 < Recv 0;"
     "40 2 > Sendrecv 0 8 200 3; 41 2 r 0 7 999; 43 2 @ 0 7 5; 43 2 ! 0 0 7 100;"
     "44 2 < Sendrecv 0; 50 2 > Sendrecv 0 8 200 3; 51 2 r -2 7 999; 54 2 < Sendrecv 0;"
     "60 2 > Improbe 0 7 0 3; 62 2 < Improbe 0; 70 2 > Improbe 0 7 0 3; 72 2 < Improbe 71;"
     "80 2 > Mrecv 0 0 0 1; 81 2 m 71; 82 2 @ 0 7 5; 82 2 ! 0 0 7 100; 83 2 < Mrecv 0",
     "unidentified 2/4", 0, 0},
};

int main(void)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        play(&scripts[i], false);
    for (size_t i = 0; i < sizeof numbered_scripts / sizeof *numbered_scripts; i++)
        play(&numbered_scripts[i], true);
    return done_testing();
}
