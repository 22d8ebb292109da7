/* SPDX-License-Identifier: BSD-3-Clause
 * Warns of alarms and patterns whose places are not in the loaded images. A function that the
 * compiler inlined everywhere has no entry: the warning says where it was inlined. */
#include "preload/life.h"
#include "preload/patch/plans/probe_wishes.h"

#include "base/identity.h"
#include "base/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MISSING_SAID 4u
#define REFUSED_ROOM 320

static void warn(const struct probe_wish *w, const char *what, const char *where)
{
    char text[640];
    (void)snprintf(text, sizeof text, "%.150s: %.380s%.100s", probe_wish_text(w), what, where);
    process_warn(text);
}

/* Was the wish found nowhere, so that the user must be told? An image that is loaded later may
 * still have it. Not told: functions of instrumented programs, which report them without probes;
 * and instructions that a scan did not find, because they need not exist. */
static bool is_missing(const struct probe_wish *w, bool instrumented)
{
    if (w->pattern != NULL || w->of != NULL)
        return !w->found && (w->rows[0] == PROBE_ENTERED || w->rows[0] == PROBE_COPIED);
    return !w->found && !w->scans && !(probe_wish_is_function(w) && instrumented);
}

/* Is this what regtrace-isa says of a function without an entry (say_inlined() in
 * isa/plan/find.c)? */
static bool is_inlined(const char *remark)
{
    return strstr(remark, "' was inlined at ") != NULL;
}

/* Does an alarm need quotes to name this image? */
static bool needs_quotes(const char *name)
{
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("._+-", *name) == NULL)
            return true;
    return false;
}

void probe_missing_note(struct probe_wish *w, const struct probe_image *image, const char *remark)
{
    static const char place[] = "address:@";
    enum { ROOM = 381 }; /* as much as warn() writes */
    const char *name = identity_base_name(image->path), *quote = needs_quotes(name) ? "\"" : "";
    size_t n = 0;
    w->nearest[0] = '\0';
    for (const char *at; (at = strstr(remark, place)) != NULL;) {
        const char *offset = at + sizeof place - 1;
        int length = (int)strspn(offset, "+x0123456789abcdef");
        int more = snprintf(w->nearest + n, ROOM - n, "%.*saddress:%s%s%.*s%s", (int)(at - remark),
                            remark, quote, name, length, offset, quote);
        if (more < 0 || (size_t)more >= ROOM - n) {
            w->nearest[n] = '\0'; /* no place is cut */
            return;
        }
        n += (size_t)more;
        remark = offset + length;
    }
    (void)snprintf(w->nearest + n, sizeof w->nearest - n, "%s", remark);
}

/* Asks whether a function was inlined in an image. */
static void ask(struct probe_wish *w, const struct probe_image *image, const char *name)
{
    char text[PROBE_REQUEST_ROOM];
    struct probe_answer answer;
    struct rt_error e;
    (void)snprintf(text, sizeof text, "inlined:%s", name);
    const struct probe_question question = {image, text};
    if (probe_ask(true, &question, 1, &answer, &e) == 0 && is_inlined(answer.reason))
        probe_missing_note(w, image, answer.reason);
    probe_answer_free(&answer);
}

void probe_missing_search(const struct probe_image *images, unsigned n, bool instrumented)
{
    for (unsigned i = 0; i < n; i++) {
        struct probe_names names = {.file = NULL};
        for (unsigned k = 0; k < probe_wish_count && !images[i].no_int3; k++) {
            struct probe_wish *w = &probe_wishes[k];
            const char *name = probe_wish_symbol(w);
            if (name == NULL || !is_missing(w, instrumented) || is_inlined(w->nearest))
                continue;
            if (names.file == NULL)
                probe_names_open(&names, &images[i]);
            /* The program's information may also be in a file that only regtrace-isa finds. */
            if (images[i].is_program || probe_names_may_inline(&names, name))
                ask(w, &images[i], name);
        }
        probe_names_close(&names);
    }
}

/* Only warns, because all programs of a job get the same chains, and each must run. */
static void say_missing(const struct probe_wish *w)
{
    if (is_inlined(w->nearest))
        warn(w, w->nearest, " (optimized code may run these more or less often than the calls)");
    else if (w->masked[0] != '\0')
        warn(w, w->masked,
             " has it, which runs with SIGTRAP blocked at times: places there are left alone");
    else
        warn(w,
             w->nearest[0] != '\0' ? w->nearest
             : w->pattern != NULL  ? "no image has that name, or no function of it a name that it "
                                     "matches"
                                   : "there is no such place",
             " (in the program; an image that is loaded later may have it)");
}

/* Writes what is to be said about refused places, "" if nothing new. */
static void write_refused(struct probe_wish *w, char text[REFUSED_ROOM])
{
    const struct probe_refused *r = &w->refused;
    text[0] = '\0';
    if (r->count == w->refused_said)
        return;
    int n = r->count == 1
                ? snprintf(text, REFUSED_ROOM, "a place cannot be patched and is left alone:")
                : snprintf(text, REFUSED_ROOM,
                           "%" PRIu64 " places cannot be patched and are left alone: the first",
                           r->count);
    (void)snprintf(text + n, REFUSED_ROOM - (size_t)n, " %s+0x%" PRIx64 " (%s)", w->refused_in,
                   r->address, r->reason);
    w->refused_said = r->count;
}

void probe_refused_say(void)
{
    char text[REFUSED_ROOM];
    for (unsigned i = 0; i < probe_wish_count; i++) {
        write_refused(&probe_wishes[i], text);
        if (text[0] != '\0')
            log_detail(LOG_WARNING, probe_wish_text(&probe_wishes[i]), text);
    }
}

void probe_missing_say(bool instrumented)
{
    unsigned missing = 0;
    char text[REFUSED_ROOM];
    for (unsigned i = 0; i < probe_wish_count; i++) {
        const struct probe_wish *w = &probe_wishes[i];
        if (is_missing(w, instrumented) && missing++ < MISSING_SAID)
            say_missing(w);
        write_refused(&probe_wishes[i], text);
        if (text[0] != '\0')
            warn(w, text, "");
        (void)snprintf(text, sizeof text, "%" PRIu64 " places may be data and are left alone",
                       w->unsure);
        if (w->unsure != 0)
            warn(w, text, "");
    }
    (void)snprintf(text, sizeof text, "%u more places are not in what is loaded so far",
                   missing - MISSING_SAID);
    if (missing > MISSING_SAID)
        process_warn(text);
}
