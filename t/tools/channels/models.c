/* SPDX-License-Identifier: BSD-3-Clause
 * Compares the models' tables with the codes that exist: each code has one rule, each channel a
 * unique name and type. */
#include "tools/channels/models.h"

#include "t/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned rules_of(uint32_t code)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < model_rule_count; i++) {
        const struct model_rule *r = &model_rules[i];
        n += r->code == code || (r->any && (r->code & 0xffff) == (code & 0xffff));
    }
    return n;
}

static void test_codes(void)
{
    unsigned codes = 0, wrong = 0;
    for (const struct event_text *t = event_table; t->code != 0; t++, codes++)
        if (rules_of(t->code) != 1) {
            wrong++;
            diag("%s has %u rules", t->name, rules_of(t->code));
        }
    ok(wrong == 0 && codes >= 40, "each of %u codes has one rule", codes);
    wrong = 0;
    for (uint32_t f = 0; f < event_mpi_functions; f++)
        wrong += rules_of(EVENT_MPI_ENTER(f)) != 1 || rules_of(EVENT_MPI_LEAVE(f)) != 1;
    ok(wrong == 0 && event_mpi_functions > 400, "enter and leave of each of %u MPI functions too",
       event_mpi_functions);
    wrong = 0;
    for (uint32_t i = 0; i < model_rule_count; i++)
        wrong += !model_rules[i].any && event_find(model_rules[i].code) == NULL;
    ok(wrong == 0, "and no rule is of a code that there is not");
}

static void test_channels(void)
{
    static struct model_channel c[CHANNEL_COUNT];
    unsigned names = 0, types = 0, states = 0;
    models_channels(c);
    for (uint32_t i = 0; i < CHANNEL_COUNT; i++) {
        states += c[i].paraver == 0;
        for (uint32_t k = 0; k < i; k++) {
            names += strcmp(c[i].name, c[k].name) == 0;
            types += c[i].paraver != 0 && c[i].paraver == c[k].paraver;
        }
    }
    ok(names == 0, "each channel has a name of its own");
    ok(types == 0 && states == 1, "and a Paraver type, but for the one of states");
    ok(c[CHANNEL_REGION_MARK_LAST].paraver == 199 && c[CHANNEL_REGION_MARK].paraver == 100,
       "marks have 100 to 199, as ovni's");
    ok(c[CHANNEL_MPI_FUNCTION].paraver == 25 && c[CHANNEL_OVNI_TID].paraver == 2 &&
           c[CHANNEL_OVNI_STATE].paraver == 4,
       "and the others ovni's numbers where they mean the same");
}

/* Each action suits the kind of its channel. */
static void test_actions(void)
{
    static struct model_channel c[CHANNEL_COUNT];
    unsigned wrong = 0;
    models_channels(c);
    for (uint32_t i = 0; i < model_rule_count; i++) {
        const struct model_rule *r = &model_rules[i];
        if (r->action == ACTION_NOTHING || r->action == ACTION_CALL)
            continue;
        enum emu_kind kind = c[r->channel].channel.kind;
        wrong += kind != (r->action == ACTION_SET    ? EMU_SINGLE
                          : r->action == ACTION_TELL ? EMU_PUNCTUAL
                                                     : EMU_STACK);
    }
    ok(wrong == 0, "actions are of their channels' kinds");
}

/* Checks the activity of each function against a file that was written from the words of the MPI
 * standard and shares nothing with the code. */
static void test_states(void)
{
    char path[4096], word[128] = "", state[64] = "", room[64];
    unsigned seen[EVENT_MPI_FUNCTIONS_MOST] = {0}, wrong = 0, missing = 0;
    const char *source = getenv("REGTRACE_SOURCE");
    (void)snprintf(path, sizeof path, "%s/t/tools/paraver/mpi_states.txt",
                   source != NULL ? source : ".");
    FILE *f = fopen(path, "r");
    if (!ok(f != NULL, "%s is there", path))
        return;
    (void)!fscanf(f, "%*[^\n] %*[^\n]"); /* skip two lines of comment */
    while (fscanf(f, " [%63[^]]]", state) == 1 || fscanf(f, "%127s", word) == 1) {
        if (word[0] == '\0')
            continue;
        uint32_t function = 0;
        while (function < event_mpi_functions && strcmp(event_mpi_name(function), word) != 0)
            function++;
        const char *got = function < event_mpi_functions
                              ? labels_of_activities.text(NULL, 0, mpi_activity(function), room)
                              : "no such function";
        if (strcmp(got, state) != 0) {
            wrong++;
            diag("%s: %s, and should be %s", word, got, state);
        } else {
            seen[function]++;
        }
        word[0] = '\0';
    }
    (void)fclose(f);
    ok(wrong == 0, "each function has the state that it should have");
    for (uint32_t i = 0; i < event_mpi_functions; i++)
        if (seen[i] != 1) {
            missing++;
            diag("%s stands %u times in mpi_states.txt: say its state there", event_mpi_name(i),
                 seen[i]);
        }
    ok(missing == 0, "all %u functions were looked at", event_mpi_functions);
}

int main(void)
{
    test_codes();
    test_channels();
    test_actions();
    test_states();
    return done_testing();
}
