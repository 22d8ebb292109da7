/* SPDX-License-Identifier: BSD-3-Clause
 * Queries of a config: alarms, chains, ranks, and whether a function's name matches an alarm. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

unsigned ctl_config_alarm_count(const struct ctl_config *config)
{
    return config->alarm_count;
}

unsigned ctl_config_chain_count(const struct ctl_config *config)
{
    return config->chain_count;
}

const struct ctl_alarm *ctl_config_alarm(const struct ctl_config *config, unsigned index)
{
    return index < config->alarm_count ? &config->alarms[index] : NULL;
}

const struct ctl_chain *ctl_config_chain(const struct ctl_config *config, unsigned index)
{
    return index < config->chain_count ? &config->chains[index] : NULL;
}

bool ctl_config_default_start(const struct ctl_config *config)
{
    return config->default_start;
}

bool ctl_config_has_exact(const struct ctl_config *config)
{
    for (unsigned i = 0; i < ctl_config_alarm_count(config); i++)
        if (ctl_config_alarm(config, i)->exact)
            return true;
    return false;
}

bool ctl_config_uses(const struct ctl_config *config, enum ctl_type type)
{
    for (unsigned i = 0; i < config->alarm_count; i++) {
        if (config->alarms[i].type == (unsigned)type)
            return true;
    }
    return false;
}

const char *ctl_config_text(const struct ctl_config *config)
{
    return config->text;
}

void ctl_config_free(struct ctl_config *config)
{
    if (config == NULL)
        return;
    int saved = errno;
    free(config->alarms);
    free(config->chains);
    free(config->text);
    pool_free(&config->pool);
    free(config);
    errno = saved;
}

void ctl_config_set_rank(struct ctl_config *config, uint32_t rank)
{
    config->rank = rank;
}

bool ctl_alarm_on_rank(const struct ctl_alarm *alarm, uint32_t rank)
{
    for (unsigned i = 0; i < alarm->range_count; i++) {
        if (rank >= alarm->ranks[i].first && rank <= alarm->ranks[i].last)
            return true;
    }
    return alarm->range_count == 0;
}

static bool reachable_up_to(const struct ctl_config *config, const struct ctl_chain *chain,
                            unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!ctl_alarm_on_rank(&config->alarms[chain->first_alarm + i], config->rank))
            return false;
    }
    return true;
}

bool ctl_config_alarm_reachable(const struct ctl_config *config, unsigned index)
{
    const struct ctl_chain *chain = &config->chains[config->alarms[index].chain];
    unsigned count = index - chain->first_alarm + 1u;
    /* waitfor has no cycles (check.c), so this ends. */
    for (;;) {
        if (!reachable_up_to(config, chain, count))
            return false;
        if (chain->waitfor == CTL_NO_ALARM)
            return true;
        chain = &config->chains[chain->waitfor];
        if (chain->repeat == CTL_ENDLESS)
            return false;
        count = chain->alarm_count;
    }
}

/* ---- Function names ---- */

/* Returns where the parameters begin: the '(' that matches the last ')'. A trailing " const" and
 * the like may follow them. Returns `end` if there are none. */
static const char *parameters_at(const char *name, const char *end)
{
    const char *p = end;
    while (p > name && p[-1] != ')')
        p--;
    if (p == name)
        return end;
    int depth = 0;
    while (p > name) {
        p--;
        if (*p == ')')
            depth++;
        else if (*p == '(' && --depth == 0)
            break;
    }
    /* "operator()" contains a pair, and "(anonymous namespace)::f" has no parameters. */
    if (p >= name + 8 && memcmp(p - 8, "operator", 8) == 0)
        return end;
    return p == name ? end : p;
}

/* Returns where the template arguments at the end of the name begin, or `end` if there are none. */
static const char *template_at(const char *name, const char *end)
{
    if (end == name || end[-1] != '>')
        return end;
    const char *p = end;
    int depth = 0;
    while (p > name) {
        p--;
        if (*p == '>')
            depth++;
        else if (*p == '<' && --depth == 0)
            break;
    }
    const char *before = p;
    while (before > name &&
           (before[-1] == '<' || before[-1] == '>' || before[-1] == '-' || before[-1] == '='))
        before--;
    /* operator<, operator->, operator<<, ... are names. */
    if (before >= name + 8 && memcmp(before - 8, "operator", 8) == 0 && depth != 0)
        return end;
    return depth == 0 && p > name ? p : end;
}

/* Returns the position after the last "::" outside templates and parentheses, or after the last
 * blank (a return type). */
static const char *bare_at(const char *name, const char *end)
{
    int depth = 0;
    for (const char *p = end; p > name; p--) {
        char c = p[-1];
        if (c == '>' || c == ')')
            depth++;
        else if (c == '<' || c == '(')
            depth--;
        else if (depth <= 0 && (c == ':' || c == ' ' || c == '*' || c == '&'))
            return p;
    }
    return name;
}

static const char *operator_at(const char *name, const char *end)
{
    for (const char *p = name; p + 8 <= end; p++) {
        bool begins = p == name || p[-1] == ':' || p[-1] == ' ';
        bool word = p + 8 < end && ((p[8] >= 'a' && p[8] <= 'z') || (p[8] >= 'A' && p[8] <= 'Z') ||
                                    p[8] == '_' || (p[8] >= '0' && p[8] <= '9'));
        if (begins && !word && memcmp(p, "operator", 8) == 0)
            return p;
    }
    return NULL;
}

static bool same(const char *at, const char *end, const char *wanted)
{
    size_t length = strlen(wanted);
    return (size_t)(end - at) == length && memcmp(at, wanted, length) == 0;
}

bool ctl_name_matches(const struct ctl_alarm *alarm, const char *name)
{
    const char *end = name + strlen(name);
    if (same(name, end, alarm->value))
        return true;
    if (alarm->quoted && strchr(alarm->value, '(') != NULL)
        return false;
    const char *parameters = parameters_at(name, end);
    const char *templates = template_at(name, parameters);
    const char *operators = operator_at(name, parameters);
    if (operators != NULL)
        templates = parameters;
    if (alarm->quoted) {
        const char *stop = strchr(alarm->value, '<') != NULL ? parameters : templates;
        return same(name, stop, alarm->value);
    }
    const char *bare = operators != NULL ? operators : bare_at(name, templates);
    return same(bare, templates, alarm->value);
}
