/* SPDX-License-Identifier: BSD-3-Clause
 * Looks up names of libpfm4: perf::PAGE-FAULTS, or the processor's own events with their unit
 * masks. */
#include "pmu/events.h"

#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool start(struct event_answer *a)
{
    static int rc = 1;
    if (rc == 1)
        rc = pfm_initialize();
    if (rc != PFM_SUCCESS)
        (void)snprintf(a->text, sizeof a->text, "libpfm4 does not start: %s", pfm_strerror(rc));
    return rc == PFM_SUCCESS;
}

static bool unit_is_present(int unit, pfm_pmu_info_t *info)
{
    *info = (pfm_pmu_info_t){.size = sizeof *info};
    return pfm_get_pmu_info((pfm_pmu_t)unit, info) == PFM_SUCCESS && info->is_present;
}

/* Suggests similar event names. Compares the part of the name after the unit and before the
 * masks. */
static void look_for_near(const char *name, char *out, size_t room)
{
    char wanted[96], full[160];
    const char *unit_end = strstr(name, "::"), *event = unit_end != NULL ? unit_end + 2 : name;
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(event, ":"), event);
    struct near_names near = {.wanted = wanted};
    for (int u = 0; u < PFM_PMU_MAX; u++) {
        pfm_pmu_info_t unit;
        if (!unit_is_present(u, &unit) || unit.type == PFM_PMU_TYPE_UNCORE)
            continue;
        for (int i = unit.first_event; i >= 0; i = pfm_get_event_next(i)) {
            pfm_event_info_t info = {.size = sizeof info};
            if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &info) == PFM_SUCCESS)
                near_names_look(&near, info.name);
        }
    }
    /* Add the unit, so that the user can type each name as it is shown. */
    for (size_t k = 0; k < sizeof near.best / sizeof *near.best; k++) {
        for (int u = 0; u < PFM_PMU_MAX && near.best[k].name[0] != '\0'; u++) {
            pfm_pmu_info_t unit;
            if (!unit_is_present(u, &unit) || unit.type == PFM_PMU_TYPE_UNCORE)
                continue;
            (void)snprintf(full, sizeof full, "%s::%s", unit.name, near.best[k].name);
            if (pfm_find_event(full) >= 0) {
                (void)snprintf(near.best[k].name, sizeof near.best[k].name, "%.95s", full);
                break;
            }
        }
    }
    near_names_text(&near, out, room);
}

static bool encode(const char *name, int sign, struct event_answer *a, char *full, size_t room)
{
    struct perf_event_attr attr = {.size = sizeof attr};
    char *text = NULL;
    pfm_perf_encode_arg_t arg = {.attr = &attr, .fstr = &text, .size = sizeof arg};
    int rc = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
    (void)snprintf(full, room, "%s", text != NULL ? text : name);
    free(text);
    if (rc != PFM_SUCCESS) {
        char near[400] = "";
        if (rc == PFM_ERR_NOTFOUND)
            look_for_near(name, near, sizeof near);
        (void)snprintf(a->text, sizeof a->text, "libpfm4: %s%s", pfm_strerror(rc), near);
        return false;
    }
    if (attr.exclude_user || !attr.exclude_kernel) {
        (void)snprintf(a->text, sizeof a->text,
                       "it asks for the kernel's share: only what "
                       "happens in user mode is counted");
        return false;
    }
    if (a->terms == EVENT_TERMS) {
        (void)snprintf(a->text, sizeof a->text, "it is made of more than %d events", EVENT_TERMS);
        return false;
    }
    a->term[a->terms++] = (struct event_term){.sign = sign,
                                              .type = attr.type,
                                              .config = attr.config,
                                              .config1 = attr.config1,
                                              .config2 = attr.config2};
    return true;
}

/* Removes masks with default values, which tell a reader nothing. */
static void cut_defaults(char *full)
{
    static const char *const defaults[] = {":e=0",  ":i=0",    ":c=0",     ":g=0",  ":t=0",
                                           ":u=1",  ":k=0",    ":h=0",     ":mg=0", ":mh=1",
                                           ":hv=0", ":intx=0", ":intxcp=0"};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        char *at = strstr(full, defaults[i]);
        size_t n = strlen(defaults[i]);
        if (at != NULL && (at[n] == ':' || at[n] == '\0'))
            memmove(at, at + n, strlen(at + n) + 1);
    }
}

bool events_pfm_term(const char *name, int sign, struct event_answer *a, char *full, size_t room)
{
    if (!start(a) || !encode(name, sign, a, full, room))
        return false;
    cut_defaults(full);
    return true;
}

bool events_pfm_find(const char *name, struct event_answer *a)
{
    return events_pfm_term(name, 1, a, a->text, sizeof a->text);
}

bool events_pfm_about(struct event_answer *a)
{
    if (!start(a))
        return false;
    size_t n = (size_t)snprintf(a->text, sizeof a->text, "knows here:");
    for (int u = 0; u < PFM_PMU_MAX && n < sizeof a->text; u++) {
        pfm_pmu_info_t unit;
        if (unit_is_present(u, &unit) && unit.type != PFM_PMU_TYPE_UNCORE)
            n += (size_t)snprintf(a->text + n, sizeof a->text - n, " %s (%d events)", unit.name,
                                  unit.nevents);
    }
    return true;
}

#else
#include <stdio.h>

static bool refuse(struct event_answer *a)
{
    (void)snprintf(a->text, sizeof a->text,
                   "this build has no libpfm4 (Debian: libpfm4-dev, then configure again)");
    return false;
}

bool events_pfm_term(const char *name, int sign, struct event_answer *a, char *full, size_t room)
{
    (void)name, (void)sign, (void)full, (void)room;
    return refuse(a);
}

bool events_pfm_find(const char *name, struct event_answer *a)
{
    (void)name;
    return refuse(a);
}

bool events_pfm_about(struct event_answer *a)
{
    return refuse(a);
}
#endif
