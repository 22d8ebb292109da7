/* SPDX-License-Identifier: BSD-3-Clause
 * The tree of all call paths of MPI calls, all ranks together: `regtrace report --tree`. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_CALL_TREE_H
#define REGTRACE_TOOLS_REPORT_CALLS_CALL_TREE_H

#include "base/toolkit/key_table.h"
#include "tools/addresses.h"
#include "tools/json.h"
#include "tools/report/calls/longest_wait.h"

/* A place in code that is called from the path `parent`, or an MPI function that is. Sums are of
 * outermost MPI calls; those of a place are zero until call_tree_sum(). */
struct call_node {
    uint32_t parent; /* KEY_NONE: nothing is known of the caller; less than the own number */
    uint32_t item;   /* of the addresses; of an MPI function its number */
    bool is_mpi;
    uint64_t calls, bytes;
    double time_ns, waited_ns;
    struct longest_wait longest; /* of an MPI function */
};

/* Zero-initialize before use; free with call_tree_free(). */
struct call_tree {
    struct key_table keys;
    struct call_node *nodes; /* by number */
    size_t room;
};

/* Finds or creates the node of a call path of this rank file; KEY_NONE for path 0. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int call_tree_path(struct call_tree *t, struct addresses *a,
                                 const struct rt_rank *rank, uint32_t path, uint32_t *node);
/* Adds calls of an MPI function from this node. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int call_tree_add_calls(struct call_tree *t, uint32_t node, uint32_t function,
                                      uint64_t calls, double ns, uint64_t bytes);
/* Returns the node of an MPI function that is called from this node; KEY_NONE: no call of it has
 * been added. */
uint32_t call_tree_leaf(const struct call_tree *t, uint32_t node, uint32_t function);
/* Adds a wait in a call that has been added. */
void call_tree_add_wait(struct call_tree *t, uint32_t node, const struct wait_state *x);
void call_tree_free(struct call_tree *t);

/* What a node stands for. */
struct call_place {
    const char *name; /* function, or that which is inlined there; "?": unknown */
    const char *file; /* NULL: unknown; not ended by '\0' */
    size_t file_length;
    unsigned long line;
};

struct report;
/* Looks up the place of a node. */
struct call_place call_tree_place(struct report *r, uint32_t node);
/* Returns whether this is a function of libc that calls main, or a thread's first function. */
bool call_tree_is_start(struct report *r, uint32_t node);
/* Prints the tree of the `top` paths with most time (0: all). Call it once, as it sums up. */
void call_tree_print(FILE *out, struct report *r, size_t top);
/* Prints the path of a node, from main on: "main, a.c:9 > work, a.c:5". */
void call_tree_print_path(FILE *out, struct report *r, uint32_t node);
/* Prints that part of the path which is below the node `above`, one of its places (KEY_NONE: all of
 * it). Returns whether there is any. */
bool call_tree_print_below(FILE *out, struct report *r, uint32_t node, uint32_t above);
/* Writes a member "call_path": its places, the outermost first. */
void call_tree_json_path(struct json *j, struct report *r, uint32_t node);
/* Writes a member "call_tree": the nodes by number, parents first. Call it before the sums. */
void call_tree_json(struct json *j, struct report *r);
/* Prints a line "place;place;function MICROSECONDS" for each path, as flamegraph.pl and speedscope
 * read them. */
void call_tree_print_folded(FILE *out, struct report *r);
/* Writes a profile for pprof: call_tree_pprof.c. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int call_tree_print_pprof(FILE *out, struct report *r);
/* Writes a file for speedscope: call_tree_speedscope.c. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int call_tree_print_speedscope(FILE *out, struct report *r);

#endif
