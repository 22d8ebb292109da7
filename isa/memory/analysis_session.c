/* SPDX-License-Identifier: BSD-3-Clause
 * Opens an image, selects functions in it, and analyses code in mid-function. */
#include "isa/memory/analysis_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int session_open(struct analysis_session *o, const char *path, const char *pattern,
                 struct rt_error *e)
{
    *o = (struct analysis_session){.image = NULL};
    if (pattern != NULL && regcomp(&o->pattern, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        rt_error_set(e, "%s is no extended regular expression", pattern);
        return -EINVAL;
    }
    o->has_pattern = pattern != NULL;
    o->image = image_open(path, e);
    if (o->image == NULL) {
        session_close(o);
        return -ENOENT;
    }
    o->code = code_open(o->image);
    if (o->code == NULL) {
        rt_error_set(e, "no memory left");
        session_close(o);
        return -ENOMEM;
    }
    skel_find_claims(o->code, &o->claims);
    return 0;
}

void session_close(struct analysis_session *o)
{
    free(o->claims.at);
    free(o->sites.at);
    if (o->code != NULL)
        code_close(o->code);
    if (o->image != NULL)
        image_close(o->image);
    if (o->has_pattern)
        regfree(&o->pattern);
    *o = (struct analysis_session){.image = NULL};
}

bool session_wants(const struct analysis_session *o, const char *name, uint64_t start)
{
    const struct image *m = o->image;
    bool named = false;
    if (!o->has_pattern)
        return true;
    for (size_t k = image_symbols_from(m, start);
         k < m->symbol_count && m->symbols[k].address == start; k++) {
        named = named || image_is_function(&m->symbols[k]);
        if (image_is_function(&m->symbols[k]) && image_name_fits(&o->pattern, m->symbols[k].name))
            return true;
    }
    return !named && regexec(&o->pattern, name, 0, NULL, 0) == 0;
}

const char *session_name(const struct analysis_session *o, uint64_t start, char unnamed[32])
{
    const struct image_symbol *s = graph_symbol_at(o->image, start);
    (void)snprintf(unnamed, 32, "0x%" PRIx64, start);
    return s != NULL ? s->name : unnamed;
}

/* A part that is split off is selected with its function: f.cold holds the landing pads of f. */
static bool wants_whole(const struct analysis_session *o, const char *name, uint64_t start)
{
    char whole[512];
    const char *part = strstr(name, ".cold");
    if (part == NULL || !o->has_pattern)
        return session_wants(o, name, start);
    (void)snprintf(whole, sizeof whole, "%.*s", (int)(part - name), name);
    return image_name_fits(&o->pattern, whole);
}

bool session_watches(const struct analysis_session *o, uint64_t start)
{
    enum { FURTHEST = 16 }; /* bytes; a probe may stand after endbr64 */
    size_t k = code_above(&o->sites, start - 1);
    return k < o->sites.count && o->sites.at[k] <= start + FURTHEST;
}

static void analyse(const struct analysis_session *o, struct arena *arena,
                    const struct function *late, char name[512], struct function *out)
{
    uint64_t start = late->start;
    const struct code_range *r = code_range_of(o->code, late->call != 0 ? late->call : start);
    char unnamed[32];
    *out = *late;
    out->code = o->code;
    out->claims = &o->claims;
    out->sites = &o->sites;
    out->directs = o->directs;
    out->arena = arena;
    out->name = name;
    out->copied = out->late = true;
    out->plan = o->plan;
    if (r == NULL || start >= r->end) {
        out->reason = "it belongs to no function";
        return;
    }
    const char *of = session_name(o, r->start, unnamed);
    (void)snprintf(name, 512, "%.480s+0x%" PRIx64, of, start - r->start);
    out->end = r->end;
    if (!wants_whole(o, of, r->start))
        out->reason = "its function is not meant";
    else if (!out->watched && code_has(&o->sites, start))
        out->reason = "an alarm is to fire first";
    else
        skel_analyse(out);
}

void session_late(const struct analysis_session *o, struct arena *arena, uint64_t call,
                  uint64_t start, char name[512], struct function *out)
{
    const struct function late = {.call = call, .start = start};
    analyse(o, arena, &late, name, out);
}

/* Begins after an int3 that the program itself has at the site. */
void session_site(const struct analysis_session *o, struct arena *arena, uint64_t site,
                  char name[512], struct function *out)
{
    enum { INT3 = 0xcc };
    struct instruction i;
    bool skipped = code_decode(o->code, site, &i) && i.form.length == 1 && i.bytes[0] == INT3;
    const struct function late = {.start = skipped ? i.next : site, .watched = !skipped};
    analyse(o, arena, &late, name, out);
}
