/* SPDX-License-Identifier: BSD-3-Clause
 * State of each thread and process that messages.c and message_ends.c share. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H

#include "tools/messages/handle_table.h"
#include "tools/messages/messages.h"
#include "tools/messages/recorded_numbers.h"
#include "tools/messages/posted_receives.h"
#include "tools/messages/waiting_ends.h"

enum { FRAMES = 32, NOBODY = INT32_MIN, PROC_NULL = -2 };

/* A call that has not ended. */
struct call_frame {
    uint32_t function;
    int64_t ns;
    uint64_t a, b;
    bool looked; /* its enter event has real arguments */
    bool blocks; /* it returns when its receive is complete */
    bool sends;
    struct message_end send;
    struct posted *posted;
    bool is_counted; /* its receive has no partner, and was counted for that (ends_leave()) */
};

struct message_thread {
    struct call_frame frames[FRAMES];
    uint32_t depth;
    uint32_t next;          /* next thread of its process; UINT32_MAX: none */
    struct posted *matched; /* its EV_MPI_BYTES comes next */
    bool came_up;           /* its last call was MPI_Init */
    /* The last event, if that was EV_MPI_SEND_NUMBER or EV_MPI_RECEIVE_NUMBER. */
    bool told;
    struct rt_event number;
};

/* A receive whose number comes with a later event, or that number. */
struct later {
    struct later *next;
    uint64_t mark, number;
    bool told;              /* the number is here, the receive is not */
    struct message_end end; /* of the receive */
};

struct message_process {
    bool is_numbered;      /* EV_MPI_READY says that its messages have numbers */
    bool is_multithreaded; /* several of its threads may be in MPI at once */
    int64_t whole;         /* without numbers: everything is recorded up to this time */
    uint32_t first_thread; /* UINT32_MAX: none */
    struct posted_list posted;
    /* With several threads: receives whose messages are here, but which an open receive of another
     * thread may turn out to be at once with. */
    struct posted *held;
    struct handles handles;
    struct later *later;
};

struct messages {
    const struct comms *comms;
    void (*found)(void *context, const struct message *m);
    void (*lone)(void *context, const struct unmatched_end *x); /* NULL: nobody wants them */
    void *context;
    struct numbers *numbers;
    struct waiting_ends *waiting;
    struct message_process *processes;
    struct message_thread *threads; /* by stream */
    uint32_t thread_count;
    unsigned *does; /* by number of function */
    struct unmatched left;
};

/* Begins a send with the arguments a, b of an enter event, by a function that `does` that (0: not
 * known), and returns whether it can have a partner; counts it otherwise. Sets *out. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int ends_send(struct messages *m, const struct stream_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct message_end *out,
                            bool *sends, struct rt_error *e);
/* The call of a send has ended: the message waits for its receive. */
RT_MUST_CHECK int ends_sent(struct messages *m, struct message_end *send, int64_t ns,
                            struct rt_error *e);
/* MPI_Cancel was called for a request of a process without numbers: if it is a send, nothing tells
 * which of the later sends of its key has its place. */
RT_MUST_CHECK int ends_cancelling(struct messages *m, uint32_t process, uint64_t request,
                                  int64_t ns, struct rt_error *e);
/* Posts a receive with the arguments a, b of an enter event, or counts it, unless it is UNTOLD.
 * Sets *out, or NULL. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int ends_post(struct messages *m, const struct stream_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct posted **out,
                            struct rt_error *e);
/* Posts a receive of which only its completion, which comes now, and its number are recorded. */
RT_MUST_CHECK int ends_post_unseen(struct messages *m, const struct stream_record *r, int64_t ns,
                                   struct posted **out, struct rt_error *e);
/* The receive has got its message, whose source and tag are known. Gives it its number. */
void ends_number(struct messages *m, const struct stream_record *r, struct posted *p);
/* Its size is known as well: passes on what has its number. Frees p, or keeps it in the list. */
RT_MUST_CHECK int ends_match(struct messages *m, uint32_t process, struct posted *p,
                             struct rt_error *e);
/* Passes on the held receives of which it is known now whether other threads received the same at
 * once; `all`: nothing more comes. */
RT_MUST_CHECK int ends_release(struct messages *m, uint32_t process, bool all, struct rt_error *e);
/* Removes a receive that has received nothing and will not. Does nothing if p is NULL. */
RT_MUST_CHECK int ends_never(struct messages *m, uint32_t process, struct posted *p,
                             struct rt_error *e);
/* Counts and tells an end, or a receive, that has no partner (lone_ends.c). */
void ends_leave(struct messages *m, const struct message_end *x, enum unmatched_reason why);
void ends_leave_receive(struct messages *m, uint32_t process, const struct posted *p,
                        enum unmatched_reason why);
/* The same for all that are left after the last record. */
void ends_leave_rest(struct messages *m);
/* Takes the event that brings the number of an earlier receive. */
RT_MUST_CHECK int ends_later(struct messages *m, const struct stream_record *r, struct rt_error *e);

#endif
