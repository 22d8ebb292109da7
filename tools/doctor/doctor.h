/* SPDX-License-Identifier: BSD-3-Clause
 * The examinations of `regtrace doctor`: each tests one thing, and says what it found and what to
 * do. */
#ifndef REGTRACE_TOOLS_DOCTOR_DOCTOR_H
#define REGTRACE_TOOLS_DOCTOR_DOCTOR_H

#include "tools/run/run.h"

enum finding_level {
    FINDING_OK,
    FINDING_NOTE,    /* for the record */
    FINDING_LIMITED, /* works, but less well */
    FINDING_BROKEN,  /* the main job cannot work */
};

struct finding {
    enum finding_level level;
    char text[900];
};

struct examination {
    const char *name;
    void (*look)(struct finding *f);
};

/* NULL-terminated; in doctor_machine.c and doctor_job.c. */
extern const struct examination examinations_machine[], examinations_job[];

void finding_set(struct finding *f, enum finding_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs a command (argv[0] looked up in PATH) for at most 20 s, with up to 8 `variables`
 * ("NAME=value", NULL-terminated) added and LD_PRELOAD removed. Writes its stdout and stderr
 * together to `out`, cut to the room. Returns the exit code, 128 + signal, or -errno. */
int doctor_run(const char *const argv[], const char *const *variables, char *out, size_t room);

/* Reads the first line of a small file; "" if it cannot be read. */
void doctor_read_line(const char *path, char *out, size_t room);

#endif
