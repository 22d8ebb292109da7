/* SPDX-License-Identifier: BSD-3-Clause
 * Explains chains in words, for `regtrace run --explain`. Not linked into libregtrace.so. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "controller/language/language.h"

static const char *const event_words[CTL_EVENT_COUNT] = {
    [CTL_START] = "open a window",
    [CTL_STOP] = "close the window",
    [CTL_PRECOND] = "record nothing but go on to the next alarm",
    [CTL_THREADID] = "record a mark with the thread's number",
    [CTL_WARMUP_START] = "open a warm-up window",
    [CTL_WARMUP_STOP] = "close the warm-up window",
    [CTL_PROLOG_START] = "open a prolog window",
    [CTL_PROLOG_STOP] = "close the prolog window",
    [CTL_EPILOG_START] = "open an epilog window",
    [CTL_EPILOG_STOP] = "close the epilog window",
    [CTL_STATS_EMIT] = "record a snapshot of the counters",
    [CTL_STATS_RESET] = "take a new baseline of the counters",
    [CTL_STATS_EMIT_RESET] = "record a snapshot of the counters and take a new baseline",
};

static void say_duration(FILE *out, uint64_t nanoseconds)
{
    if (nanoseconds % 1000000000 == 0)
        fprintf(out, "%" PRIu64 " s", nanoseconds / 1000000000);
    else if (nanoseconds % 1000000 == 0)
        fprintf(out, "%" PRIu64 " ms", nanoseconds / 1000000);
    else
        fprintf(out, "%" PRIu64 " us", nanoseconds / 1000);
}

/* Writes how often the condition must come true, from a thread's point of view. Counts begin when
 * the alarm is armed: for all but the first one of a chain, when the one before has fired. */
static void say_times(FILE *out, const struct ctl_alarm *alarm, bool is_first)
{
    if (alarm->count == 1)
        fputs("when ", out);
    else
        fprintf(out, "when it has happened %" PRIu64 " times%s%s that ", alarm->count,
                is_first ? "" : " since then",
                alarm->global ? ", all threads counted together," : "");
}

static void say_instructions(FILE *out, const struct ctl_alarm *alarm)
{
    const char *whose = alarm->global ? "all threads together have" : "it has";
    if (alarm->distance == 0)
        fputs("at once", out);
    else
        fprintf(out, "when %s executed %" PRIu64 " instructions%s", whose, alarm->distance,
                alarm->exact ? ", at exactly that one" : "");
}

static void say_place(FILE *out, const struct ctl_alarm *alarm)
{
    switch ((enum ctl_value_kind)alarm->value_kind) {
    case CTL_VALUE_ABSOLUTE: fprintf(out, "the instruction at 0x%" PRIx64, alarm->number); break;
    case CTL_VALUE_NAME_OFFSET:
        fprintf(out, "the instruction at offset 0x%" PRIx64 " of the image or symbol %s",
                alarm->number, alarm->value);
        break;
    case CTL_VALUE_BYTES:
        fputs("an instruction of exactly the bytes", out);
        for (unsigned i = 0; i < alarm->byte_count; i++)
            fprintf(out, " %02x", alarm->bytes[i]);
        break;
    default: fprintf(out, "the symbol %s", alarm->value);
    }
    fputs(" is about to execute", out);
}

static void say_what(FILE *out, const struct ctl_alarm *alarm)
{
    switch ((enum ctl_type)alarm->type) {
    case CTL_ADDRESS:
    case CTL_ITEXT: say_place(out, alarm); break;
    case CTL_SSC:
        fprintf(out, "the SSC mark %" PRIx64 " is about to execute", alarm->number);
        break;
    case CTL_ISA_EXTENSION:
        fprintf(out, "an instruction of the ISA extension %s is about to execute", alarm->value);
        break;
    case CTL_ISA_CATEGORY:
        fprintf(out, "an instruction of the category %s is about to execute", alarm->value);
        break;
    case CTL_INT3: fputs("it comes to an int3 of the program (which is skipped)", out); break;
    case CTL_MAGIC:
        fprintf(out, "it comes to the magic mark %" PRIu64 ".%" PRIu64, alarm->number,
                alarm->second);
        break;
    case CTL_CPUID: fprintf(out, "it executes cpuid with the mark %" PRIu64, alarm->number); break;
    case CTL_PCONTROL:
        if (alarm->value_kind == CTL_VALUE_LEVEL)
            fprintf(out, "it calls MPI_Pcontrol with level %" PRId64, (int64_t)alarm->number);
        else if (strncmp(alarm->value, "end=", 4) == 0)
            fprintf(out, "it ends the region \"%s\"", alarm->value + 4);
        else
            fprintf(out, "it calls MPI_Pcontrol with the text \"%s\", or begins that region",
                    alarm->value);
        break;
    case CTL_ENTER_FUNC:
        fprintf(out, "it enters the function %s%s", alarm->value,
                alarm->quoted ? " (the whole name)" : " (any overload)");
        break;
    case CTL_EXIT_FUNC:
        fprintf(out, "the outermost call of the function %s returns%s", alarm->value,
                alarm->quoted ? " (the whole name)" : " (any overload)");
        break;
    case CTL_INTERACTIVE: fputs("`regtrace ctl` asks for it", out); break;
    case CTL_SIGNAL: fprintf(out, "it receives signal %" PRIu64, alarm->number); break;
    case CTL_IMAGE_LOAD: fprintf(out, "the image %s is loaded", alarm->value); break;
    case CTL_ICOUNT:
    case CTL_TIMEOUT:
    case CTL_UNIFORM:
    case CTL_TYPE_COUNT: break;
    }
}

static void say_ranks(FILE *out, const struct ctl_alarm *alarm)
{
    if (alarm->range_count == 0)
        return;
    fputs(" [only on ranks ", out);
    for (unsigned i = 0; i < alarm->range_count; i++) {
        fprintf(out, "%s%u", i != 0 ? ", " : "", alarm->ranks[i].first);
        if (alarm->ranks[i].last != alarm->ranks[i].first)
            fprintf(out, "-%u", alarm->ranks[i].last);
    }
    fputs("; the chain stops here on others]", out);
}

static void say_uniform(FILE *out, const struct ctl_alarm *alarm)
{
    fprintf(out,
            "open a window for all threads at once, close it after %" PRIu64
            " instructions, and so on every %" PRIu64 " instructions from start to start, %" PRIu64
            " windows in all; ",
            alarm->second, alarm->number, alarm->count);
    if (alarm->tid != CTL_ANY_TID)
        fprintf(out, "thread %u counts", alarm->tid);
    else
        fputs("the first thread to reach the number drives all", out);
}

static void say_alarm(FILE *out, const struct ctl_alarm *alarm, bool is_first)
{
    if (alarm->type == CTL_UNIFORM) {
        say_uniform(out, alarm);
    } else {
        if (alarm->type == CTL_ICOUNT)
            say_instructions(out, alarm);
        else if (alarm->type == CTL_TIMEOUT) {
            fputs("after ", out);
            say_duration(out, alarm->distance);
        } else {
            say_times(out, alarm, is_first);
            say_what(out, alarm);
        }
        if (alarm->tid != CTL_ANY_TID)
            fprintf(out, " (in thread %u alone)", alarm->tid);
        fprintf(out, ", %s%s", event_words[alarm->event], alarm->bcast ? " for all threads" : "");
    }
    say_ranks(out, alarm);
}

static void say_chain(FILE *out, const struct ctl_config *config, const struct ctl_chain *chain)
{
    bool shared = false;
    fprintf(out, "Chain %u (%s)", chain->index + 1u, chain->origin);
    if (chain->name[0] != '\0')
        fprintf(out, ", named %s", chain->name);
    if (chain->label[0] != '\0')
        fprintf(out, ", %s", chain->label);
    fprintf(out, ": %s\n", chain->text);
    if (chain->waitfor != CTL_NO_ALARM)
        fprintf(out, "  begins when chain %u (%s) has finished all its passes\n",
                chain->waitfor + 1u, config->chains[chain->waitfor].name);
    for (unsigned i = 0; i < chain->alarm_count; i++) {
        const struct ctl_alarm *alarm = &config->alarms[chain->first_alarm + i];
        fprintf(out, "  %u. ", i + 1);
        say_alarm(out, alarm, i == 0);
        fputc('\n', out);
        shared = shared || alarm->bcast || alarm->global;
    }
    if (chain->repeat == CTL_ENDLESS)
        fputs("  then again from 1, without end\n", out);
    else if (chain->repeat > 1)
        fprintf(out, "  then again from 1, %" PRIu64 " passes in all\n", chain->repeat);
    if (!shared)
        fputs("  each thread goes through it by itself\n", out);
}

int ctl_explain(const struct ctl_config *config, FILE *out)
{
    for (unsigned i = 0; i < config->chain_count; i++)
        say_chain(out, config, &config->chains[i]);
    if (config->default_start)
        fputs(config->chain_count == 0
                  ? "No chain: the whole run is one window in each thread.\n"
                  : "No start in any chain: each thread's window opens at its first instruction.\n",
              out);
    else if (config->chain_count == 0)
        fputs("No chain, and the default start is off: nothing is recorded.\n", out);
    return ferror(out) ? -EIO : 0;
}
