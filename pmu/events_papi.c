/* SPDX-License-Identifier: BSD-3-Clause
 * Looks up PAPI's presets: which events of this processor PAPI counts for PAPI_TOT_INS and others.
 * PAPI itself counts nothing here. */
#include "pmu/events.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_PAPI
#include <papi.h>

static bool start(struct event_answer *a)
{
    static int version;
    a->source = "PAPI";
    if (version == 0)
        version = PAPI_library_init(PAPI_VER_CURRENT);
    if (version == PAPI_VER_CURRENT)
        return true;
    (void)snprintf(a->text, sizeof a->text, "PAPI does not start: %s",
                   version > 0 ? "its library is of another version than its header"
                               : PAPI_strerror(version));
    return false;
}

/* Returns why PAPI's component for perf_event_open() does not count here, or "" if it does. */
static const char *reason(void)
{
    for (int i = 0; i < PAPI_num_components(); i++) {
        const PAPI_component_info_t *c = PAPI_get_component_info(i);
        if (c != NULL && strcmp(c->name, "perf_event") == 0)
            return c->disabled != 0 && c->disabled_reason[0] != '\0' ? c->disabled_reason : "";
    }
    return "this PAPI was built without perf_event";
}

static void refuse_name(const char *name, bool exists, struct event_answer *a)
{
    char near[400];
    struct near_names names = {.wanted = name};
    if (reason()[0] != '\0') {
        (void)snprintf(a->text, sizeof a->text, "PAPI counts nothing here: %s", reason());
        return;
    }
    for (int code = (int)(0 | PAPI_PRESET_MASK), rc = PAPI_enum_event(&code, PAPI_ENUM_FIRST);
         rc == PAPI_OK; rc = PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL)) {
        char text[PAPI_MAX_STR_LEN] = "";
        if (PAPI_query_event(code) == PAPI_OK && PAPI_event_code_to_name(code, text) == PAPI_OK)
            near_names_look(&names, text);
    }
    near_names_text(&names, near, sizeof near);
    (void)snprintf(a->text, sizeof a->text, "%s%s",
                   exists ? "PAPI cannot make it of this processor's events"
                          : "PAPI has no event of that name",
                   near);
}

/* Takes the native events of a preset as terms, added or subtracted. Refuses presets with other
 * formulas, which regtrace does not compute. */
static bool take_terms(const PAPI_event_info_t *info, struct event_answer *a)
{
    bool sub = strcmp(info->derived, "DERIVED_SUB") == 0,
         plain = info->count == 1 && strcmp(info->derived, "DERIVED_POSTFIX") != 0;
    char text[sizeof a->text] = "";
    size_t n = 0;
    for (unsigned i = 0; i < info->count && i < PAPI_MAX_INFO_TERMS && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.256s",
                              i == 0                                      ? ""
                              : sub                                       ? " - "
                              : strcmp(info->derived, "DERIVED_ADD") == 0 ? " + "
                                                                          : ", ",
                              info->name[i]);
    if (!plain && !sub && strcmp(info->derived, "DERIVED_ADD") != 0) {
        (void)snprintf(a->text, sizeof a->text,
                       "PAPI computes it (%s%s%.100s) of %.500s: count these", info->derived,
                       info->postfix[0] != '\0' ? " " : "", info->postfix, text);
        return false;
    }
    n = 0;
    for (unsigned i = 0; i < info->count && i < PAPI_MAX_INFO_TERMS; i++) {
        char full[400];
        if (!events_pfm_term(info->name[i], sub && i > 0 ? -1 : 1, a, full, sizeof full))
            return false;
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  i == 0 ? ""
                                  : sub  ? " - "
                                         : " + ",
                                  full);
    }
    (void)snprintf(a->text, sizeof a->text, "%s", text);
    return true;
}

bool events_papi_find(const char *name, struct event_answer *a)
{
    static PAPI_event_info_t info;
    char text[PAPI_MAX_STR_LEN];
    int code = 0;
    if (!start(a))
        return false;
    (void)snprintf(text, sizeof text, "%s", name);
    bool exists = PAPI_event_name_to_code(text, &code) == PAPI_OK;
    info = (PAPI_event_info_t){0};
    if (!exists || PAPI_query_event(code) != PAPI_OK ||
        PAPI_get_event_info(code, &info) != PAPI_OK || info.count == 0) {
        refuse_name(name, exists, a);
        return false;
    }
    return take_terms(&info, a);
}

bool events_papi_about(struct event_answer *a)
{
    int code = 0;
    char name[] = "PAPI_TOT_INS";
    unsigned presets = 0;
    if (!start(a))
        return false;
    /* PAPI prepares a component when one of its events is looked up, and only then reports what the
     * component lacks. */
    (void)PAPI_event_name_to_code(name, &code);
    (void)PAPI_query_event(code);
    for (code = (int)PAPI_PRESET_MASK; PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL) == PAPI_OK;)
        presets++;
    int version = PAPI_get_opt(PAPI_LIB_VERSION, NULL);
    size_t n = (size_t)snprintf(a->text, sizeof a->text, "%d.%d.%d", PAPI_VERSION_MAJOR(version),
                                PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version));
    if (reason()[0] != '\0') {
        (void)snprintf(a->text + n, sizeof a->text - n, " counts nothing here: %s", reason());
        return false;
    }
    const PAPI_hw_info_t *hw = PAPI_get_hardware_info();
    (void)snprintf(a->text + n, sizeof a->text - n, " has %u of its events on this processor%s%s",
                   presets, hw != NULL ? ": " : "", hw != NULL ? hw->model_string : "");
    return true;
}

#else

static bool refuse(struct event_answer *a)
{
    a->source = "PAPI";
    (void)snprintf(a->text, sizeof a->text,
                   "this build has no PAPI (Debian: libpapi-dev and libpfm4-dev, then configure "
                   "again)");
    return false;
}

bool events_papi_find(const char *name, struct event_answer *a)
{
    (void)name;
    return refuse(a);
}

bool events_papi_about(struct event_answer *a)
{
    return refuse(a);
}
#endif
