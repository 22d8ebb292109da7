/* SPDX-License-Identifier: BSD-3-Clause
 * Facts about a traced process that the writer and recover take from its stream. */
#ifndef REGTRACE_WRITER_STREAM_FACTS_H
#define REGTRACE_WRITER_STREAM_FACTS_H

#include "writer/claim.h"
#include "writer/drain.h"

#include <limits.h>

struct stream_facts {
    char host[65], boot_id[40], program[64], job[128];
    char stream_path[PATH_MAX - 512]; /* "": the file has no name any more */
    char values[PATH_MAX];            /* plug-in of the value profile, "": none */
    unsigned deflate;
    uint64_t max_bytes; /* 0 = no limit */
    int signal_number;  /* 0 = none */
    uint32_t world;     /* as in struct identity */
};

/* Reads the metadata, and finds the path of the stream's descriptor. Returns 0 or -ENOMEM. */
int stream_facts_read(struct stream_facts *f, const struct drain *d);

/* Fills in the entry of the stream's process, on this host, in the run's folder `dir`: without a
 * file, without a writer, state CLAIM_WAITING. */
void stream_facts_claim(struct claim *c, const struct stream_facts *f, const struct stream *s,
                        const char *dir);

/* Fills in the attributes as of now, with this process as the writer. Texts point into *f. */
void stream_facts_identity(struct rankfile_identity *id, const struct stream_facts *f,
                           const struct stream *s);

/* Fills in the attributes of a rank file that was read, without a writer. Texts point into *old. */
void rank_identity(struct rankfile_identity *id, const struct rt_rank *old);

#endif
