/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the requests to regtrace-isa: one for each alarm, but alarms that ask the same share one;
 * two for each pattern of REGTRACE_FUNCTIONS. */
#include "preload/patch/plans/probe_wishes.h"

#include "base/identity.h"
#include "preload/memory/memory_copies.h"
#include "preload/patch/probes.h"
#include "preload/process.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_wish *probe_wishes;
unsigned probe_wish_count;
static uint16_t *wished; /* alarms, sorted by their requests */

static bool is_place_type(unsigned type)
{
    return type == CTL_ADDRESS || type == CTL_SSC || type == CTL_ITEXT ||
           type == CTL_ISA_EXTENSION || type == CTL_ISA_CATEGORY || type == CTL_INT3 ||
           type == CTL_MAGIC || type == CTL_CPUID;
}

static bool is_function_type(unsigned type)
{
    return type == CTL_ENTER_FUNC || type == CTL_EXIT_FUNC;
}

bool probe_is_place(const struct probe_site *s)
{
    return probe_is_alarm(s) && is_place_type(ctl_config_alarm(process.config, s->alarm)->type);
}

unsigned probe_count_alarms(bool places)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++) {
        unsigned type = ctl_config_alarm(process.config, i)->type;
        n += (places ? is_place_type(type) : is_function_type(type)) &&
             ctl_config_alarm_reachable(process.config, i);
    }
    return n;
}

static bool is_image(const struct probe_image *image, const char *name)
{
    return strcmp(name, image->path) == 0 || strcmp(name, identity_base_name(image->path)) == 0;
}

static void write_bytes(char *text, const struct ctl_alarm *a)
{
    size_t n = (size_t)snprintf(text, PROBE_REQUEST_ROOM, "itext:");
    for (unsigned i = 0; i < a->byte_count; i++)
        n += (size_t)snprintf(text + n, PROBE_REQUEST_ROOM - n, "%02x", a->bytes[i]);
}

static bool write_for_alarm(const struct ctl_alarm *a, const struct probe_image *image,
                            char text[PROBE_REQUEST_ROOM])
{
    uintptr_t number = (uintptr_t)a->number;
    switch (a->type) {
    case CTL_ADDRESS:
        if (a->value_kind == CTL_VALUE_ABSOLUTE)
            (void)snprintf(text, PROBE_REQUEST_ROOM, "address:0x%" PRIxPTR, number - image->bias);
        else if (a->value_kind == CTL_VALUE_NAME_OFFSET && is_image(image, a->value))
            (void)snprintf(text, PROBE_REQUEST_ROOM, "offset:0x%" PRIxPTR, number);
        else if (a->value_kind == CTL_VALUE_NAME_OFFSET)
            (void)snprintf(text, PROBE_REQUEST_ROOM, "symbol:%s+0x%" PRIxPTR, a->value, number);
        else
            (void)snprintf(text, PROBE_REQUEST_ROOM, "symbol:%s", a->value);
        return a->value_kind != CTL_VALUE_ABSOLUTE || (number >= image->from && number < image->to);
    case CTL_ENTER_FUNC:
    case CTL_EXIT_FUNC: /* entries show which threads are inside */
        (void)snprintf(text, PROBE_REQUEST_ROOM, "enter:%s", a->value);
        return !image->instrumented;
    case CTL_SSC: (void)snprintf(text, PROBE_REQUEST_ROOM, "ssc:%" PRIxPTR, number); return true;
    case CTL_ITEXT: write_bytes(text, a); return true;
    case CTL_ISA_EXTENSION:
        (void)snprintf(text, PROBE_REQUEST_ROOM, "isa_extension:%s", a->value);
        return true;
    case CTL_ISA_CATEGORY:
        (void)snprintf(text, PROBE_REQUEST_ROOM, "isa_category:%s", a->value);
        return true;
    default: (void)snprintf(text, PROBE_REQUEST_ROOM, "%s", ctl_type_name(a->type)); return true;
    }
}

static const struct ctl_alarm *first_alarm(const struct probe_wish *w)
{
    return ctl_config_alarm(process.config, w->rows[0]);
}

/* Compares all that write_for_alarm() reads. */
static int compare_requests(const struct ctl_alarm *a, const struct ctl_alarm *b)
{
    if (a->type != b->type && !(is_function_type(a->type) && is_function_type(b->type)))
        return a->type < b->type ? -1 : 1;
    if (a->value_kind != b->value_kind)
        return a->value_kind < b->value_kind ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->byte_count != b->byte_count)
        return a->byte_count < b->byte_count ? -1 : 1;
    int bytes = memcmp(a->bytes, b->bytes, a->byte_count);
    return bytes != 0 ? bytes : strcmp(a->value, b->value);
}

static int by_request(const void *a, const void *b)
{
    uint16_t i = *(const uint16_t *)a, j = *(const uint16_t *)b;
    int order =
        compare_requests(ctl_config_alarm(process.config, i), ctl_config_alarm(process.config, j));
    return order != 0 ? order : (i > j) - (i < j);
}

static int by_first_alarm(const void *a, const void *b)
{
    uint16_t i = ((const struct probe_wish *)a)->rows[0],
             j = ((const struct probe_wish *)b)->rows[0];
    return (i > j) - (i < j);
}

/* --- patterns of REGTRACE_FUNCTIONS ----------------------------------------------------------- */

struct probe_pattern {
    char regex[OPTION_PATTERN_ROOM], image[OPTION_PATTERN_ROOM];
};

static struct probe_pattern *patterns;

static int make_patterns(struct rt_error *e)
{
    static const uint16_t rows[] = {PROBE_ENTERED, PROBE_RETURNED};
    const char *rest = process.options.text[OPT_functions];
    int rc = 0;
    if (!probe_functions_wanted())
        return 0;
    patterns = calloc(OPTION_PATTERNS_MAX, sizeof *patterns);
    if (patterns == NULL) {
        rt_error_set(e, "no memory for the patterns of REGTRACE_FUNCTIONS");
        return -ENOMEM;
    }
    for (unsigned n = 0; n < OPTION_PATTERNS_MAX; n++) {
        struct probe_pattern *p = &patterns[n];
        rest = option_pattern(rest, p->regex, p->image, &rc);
        if (rest == NULL)
            break;
        for (unsigned i = 0; i < 2; i++)
            probe_wishes[probe_wish_count++] =
                (struct probe_wish){.rows = &rows[i], .row_count = 1, .pattern = p, .scans = true};
    }
    return 0;
}

static void add_copies(void)
{
    static const uint16_t row = PROBE_COPIED;
    static struct probe_pattern pattern; /* for all images: each asks for its own functions */
    if (memory_copies_wanted())
        probe_wishes[probe_wish_count++] =
            (struct probe_wish){.rows = &row, .row_count = 1, .pattern = &pattern, .scans = true};
}

static bool write_for_copies(const struct probe_image *image, char text[PROBE_REQUEST_ROOM])
{
    char regex[COPY_PATTERN_ROOM];
    if (!memory_copies_functions(image, regex))
        return false;
    (void)snprintf(text, PROBE_REQUEST_ROOM, "starts:%s", regex);
    return true;
}

/* Asks for the functions themselves, and for the sites that their calls return to: in the
 * functions' own image, and in the program, which calls its libraries. Other callers are found as
 * they come (probe_returns.c). */
static bool write_for_pattern(const struct probe_wish *w, const struct probe_image *image,
                              char text[PROBE_REQUEST_ROOM])
{
    const struct probe_pattern *p = w->pattern;
    bool own = p->image[0] == '\0' ? image->is_program
                                   : fnmatch(p->image, identity_base_name(image->path), 0) == 0;
    bool returned = w->rows[0] == PROBE_RETURNED;
    if (w->rows[0] == PROBE_COPIED)
        return write_for_copies(image, text);
    (void)snprintf(text, PROBE_REQUEST_ROOM, "%s:%s",
                   !returned ? "functions"
                   : own     ? "callers"
                             : "stubs",
                   p->regex);
    return own || (returned && image->is_program);
}

/* Return sites of direct calls are patched in advance; those of calls by pointers, and from
 * elsewhere, as they come (probe_returns.c). */
static void add_exits(void)
{
    static const uint16_t row = PROBE_EXITED;
    for (unsigned i = 0, n = probe_wish_count; i < n; i++) {
        const struct probe_wish *of = &probe_wishes[i];
        bool exits = false;
        for (unsigned k = 0; k < of->row_count; k++)
            exits = exits || ctl_config_alarm(process.config, of->rows[k])->type == CTL_EXIT_FUNC;
        if (exits)
            probe_wishes[probe_wish_count++] =
                (struct probe_wish){.rows = &row, .row_count = 1, .of = of};
    }
}

static bool write_for_exits(const struct probe_wish *w, const struct probe_image *image,
                            char text[PROBE_REQUEST_ROOM])
{
    (void)snprintf(text, PROBE_REQUEST_ROOM, "exits:%s", first_alarm(w->of)->value);
    return !image->instrumented && !image->no_int3;
}

bool probe_write_request(const struct probe_wish *w, const struct probe_image *image,
                         char text[PROBE_REQUEST_ROOM])
{
    if (w->of != NULL)
        return write_for_exits(w, image, text);
    return w->pattern != NULL ? write_for_pattern(w, image, text)
                              : write_for_alarm(first_alarm(w), image, text);
}

const char *probe_wish_name(const struct probe_wish *w, const struct probe_image *image)
{
    const struct ctl_alarm *a = w->pattern == NULL ? first_alarm(w->of != NULL ? w->of : w) : NULL;
    /* Always ask about the program: its answer has the nearest names, and its main needs no
     * name. */
    if (a == NULL || image->is_program)
        return NULL;
    bool place = a->type == CTL_ADDRESS && a->value_kind != CTL_VALUE_ABSOLUTE &&
                 !(a->value_kind == CTL_VALUE_NAME_OFFSET && is_image(image, a->value));
    return place || is_function_type(a->type) ? a->value : NULL;
}

bool probe_wish_is_function(const struct probe_wish *w)
{
    return w->pattern == NULL && w->of == NULL && is_function_type(first_alarm(w)->type);
}

const char *probe_wish_symbol(const struct probe_wish *w)
{
    const struct ctl_alarm *a = w->pattern == NULL && w->of == NULL ? first_alarm(w) : NULL;
    bool symbol = a != NULL && a->type == CTL_ADDRESS && a->value_kind != CTL_VALUE_ABSOLUTE;
    return symbol || probe_wish_is_function(w) ? a->value : NULL;
}

const char *probe_wish_text(const struct probe_wish *w)
{
    static char text[2 * OPTION_PATTERN_ROOM + 32];
    if (w->rows[0] == PROBE_COPIED) {
        (void)snprintf(text, sizeof text, "REGTRACE_MEMORY=%s", process.options.text[OPT_memory]);
        return text;
    }
    if (w->pattern == NULL)
        return first_alarm(w->of != NULL ? w->of : w)->text;
    (void)snprintf(text, sizeof text, "REGTRACE_FUNCTIONS=%s%s%s", w->pattern->regex,
                   w->pattern->image[0] != '\0' ? "@" : "", w->pattern->image);
    return text;
}

int probe_make_wishes(struct rt_error *e)
{
    unsigned all = ctl_config_alarm_count(process.config), n = 0;
    probe_wishes = calloc((size_t)2 * all + 2 * OPTION_PATTERNS_MAX + 1, sizeof *probe_wishes);
    wished = calloc(all + 1, sizeof *wished);
    if (probe_wishes == NULL || wished == NULL) {
        rt_error_set(e, "no memory for the places that the chains name");
        return -ENOMEM;
    }
    for (unsigned i = 0; i < all; i++) {
        unsigned type = ctl_config_alarm(process.config, i)->type;
        if ((is_place_type(type) || is_function_type(type)) &&
            ctl_config_alarm_reachable(process.config, i))
            wished[n++] = (uint16_t)i;
    }
    qsort(wished, n, sizeof *wished, by_request);
    for (unsigned i = 0; i < n; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, wished[i]);
        struct probe_wish *w = &probe_wishes[probe_wish_count];
        if (i == 0 || compare_requests(a, first_alarm(w - 1)) != 0)
            probe_wishes[probe_wish_count++] = (struct probe_wish){
                .rows = &wished[i],
                .one_image = a->type == CTL_ADDRESS,
                .scans = a->type != CTL_ADDRESS && !is_function_type(a->type),
                .unkept = a->type == CTL_ADDRESS && a->value_kind == CTL_VALUE_ABSOLUTE,
            };
        probe_wishes[probe_wish_count - 1].row_count++;
    }
    qsort(probe_wishes, probe_wish_count, sizeof *probe_wishes, by_first_alarm);
    add_exits();
    add_copies();
    return make_patterns(e);
}
