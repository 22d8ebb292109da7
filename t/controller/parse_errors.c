/* SPDX-License-Identifier: BSD-3-Clause
 * Tests wrong control strings: each with the column and the words that its message must have. */
#include "t/controller/helpers.h"
#include "t/tap.h"

struct wrong {
    const char *chain;
    unsigned column;
    const char *words;
};

static const struct wrong table[] = {
    /* Events, types, pieces */
    {"", 1, "expected an alarm or a chain option, found nothing"},
    {"begin:icount:5", 1, "unknown event or option 'begin'"},
    {"strat:icount:5", 1, "did you mean 'start'"},
    {"stopp:icount:5", 1, "did you mean 'stop'"},
    {"precon:icount:5", 1, "did you mean 'precond'"},
    {"START:icount:5", 1, "did you mean 'start'"},
    {"warmupstart:icount:5", 1, "did you mean 'warmup-start'"},
    {"stats-rest:icount:5", 1, "did you mean 'stats-reset'"},
    {"start", 6, "expected an alarm type after 'start:', found nothing"},
    {"start:", 7, "expected an alarm type after 'start:', found nothing"},
    {"start::5", 7, "expected an alarm type after 'start:', found nothing"},
    {"start:addres:foo", 7, "unknown alarm type 'addres', did you mean 'address'?"},
    {"start:adress:foo", 7, "did you mean 'address'"},
    {"start:icoutn:5", 7, "did you mean 'icount'"},
    {"start:Icount:5", 7, "did you mean 'icount'"},
    {"start:enter_function:foo", 7, "did you mean 'enter_func'"},
    {"start:isa_extensions:AVX", 7, "did you mean 'isa_extension'"},
    {"start:mpi:foo", 7,
     "legal here: icount, address, ssc, itext, isa_extension, isa_category, int3, magic, cpuid, "
     "pcontrol, enter_func, exit_func, interactive, timeout, signal, image_load"},
    {"icount:5", 1, "expected an event before the alarm type 'icount', as in 'start:icount'"},
    {"start:icount:5,", 16, "expected an alarm or a chain option, found nothing"},
    {"start:icount:5,,stop:icount:5", 16, "found nothing"},
    {",start:icount:5", 1, "found nothing"},
    {"start:icount:5,stop:addres:bar", 21, "did you mean 'address'"},
    {"start:icount:5, stop:addres:bar", 22, "did you mean 'address'"},
    {"start:icount:5,global", 16, "'global' belongs to an alarm: write ':global'"},
    {"start:icount:5,count3", 16, "'count3' belongs to an alarm: write ':count3'"},
    {"start:icount:5,tid2", 16, "'tid2' belongs to an alarm"},
    {"start:icount:5,exact", 16, "'exact' belongs to an alarm"},
    {"start:icount:5,ranks0", 16, "'ranks0' belongs to an alarm"},
    {"bcast,start:icount:5", 1, "'bcast' has no alarm before it"},
    {"start:ssc:1,bcast,bcast", 19, "'bcast' stands twice"},
    {"start:ssc:1,bcast:tid2", 18, "nothing may follow 'bcast'"},
    {"uniform:8:5:1,bcast", 15, "every event of a uniform is bcast already"},
    {"repeat:3", 1, "the chain has no alarm"},
    {"name:a,waitfor:b", 1, "the chain has no alarm"},
    /* Integers */
    {"start:icount", 13, "icount expects a number of instructions, found nothing"},
    {"start:icount:", 14, "icount expects a number of instructions, found nothing"},
    {"start:icount:ten", 14, "icount expects an integer"},
    {"start:icount:10k", 16, "and nothing else, found '10k'"},
    {"start:icount:1e6", 15, "found '1e6'"},
    {"start:icount:-5", 14, "icount expects an integer"},
    {"start:icount:0x", 16, "found nothing"},
    {"start:icount:0xfg", 17, "found '0xfg'"},
    {"start:icount:18446744073709551616", 14, "does not fit 64 bits"},
    {"start:icount:0x10000000000000000", 14, "does not fit 64 bits"},
    {"start:icount:9223372036854775808:count2", 14, "times count does not fit 64 bits"},
    {"start:icount:5,repeat:0", 23, "repeat:0 would never run"},
    {"start:icount:5,repeat:x", 23, "repeat expects an integer"},
    {"start:icount:5,repeat:", 23, "repeat expects an integer"},
    {"start:icount:5,repeat:2:3", 24, "nothing may follow 'repeat:N'"},
    {"start:icount:5,repeat,repeat:2", 23, "'repeat' stands twice"},
    {"start:icount:5,repeat3", 16, "write 'repeat' (endless) or 'repeat:N'"},
    {"start:icount:0,repeat", 1, "it would fire without end at one instruction"},
    /* Tokens */
    {"start:icount:5:repeat", 16, "write ',repeat' instead of ':repeat'"},
    {"start:ssc:1:repeat:3", 13, "write ',repeat' instead of ':repeat'"},
    {"start:icount:5:name:x", 16, "write ',name:ID' instead of ':'"},
    {"start:icount:5:stop:icount:7", 16, "'stop' begins another alarm: write ',' before it"},
    {"start:icount:5:", 16, "expected a token after ':', found nothing"},
    {"start:icount:5:brodcast", 16, "unknown token 'brodcast', did you mean 'bcast'?"},
    {"start:icount:5:gobal", 16, "did you mean 'global'"},
    {"start:icount:5:cuont3", 16, "did you mean 'count'"},
    {"start:icount:5:7", 16,
     "unknown token '7'; legal here: countN, tidN, bcast, global, exact, ranksLIST"},
    {"start:icount:5:count", 21, "count (write 'count3') expects an integer"},
    {"start:icount:5:count:3", 21, "count (write 'count3') expects an integer"},
    {"start:icount:5:count0", 21, "count0 would never fire"},
    {"start:icount:5:count2:count3", 23, "'count' stands twice"},
    {"start:icount:5:tid", 19, "tid (write 'tid0') expects an integer"},
    {"start:icount:5:tidx", 19, "tid (write 'tid0') expects an integer"},
    {"start:icount:5:tid4294967295", 19, "too large"},
    {"start:icount:5:tid1:tid2", 21, "'tid' stands twice"},
    {"start:icount:5:bcast:bcast", 22, "'bcast' stands twice"},
    {"start:icount:5:tid1:global", 21, "'tid' and 'global' exclude each other"},
    {"start:ssc:1:global:count2:tid1", 27, "'tid' and 'global' exclude each other"},
    {"start:ssc:1:global", 13, "'global' on ssc needs a count"},
    {"start:pcontrol:x:bcast:global", 24, "'global' on pcontrol needs a count"},
    {"start:timeout:5:count2:global", 24, "'global' has no meaning for timeout"},
    {"start:ssc:1:exact", 13, "'exact' applies to icount alone"},
    {"start:icount:5:exact:global", 16, "'exact' and 'global' exclude each other"},
    {"start:icount:5:ranks", 21, "ranks (write 'ranks0-3+8') expects an integer"},
    {"start:icount:5:ranks3-1", 21, "the range of ranks 3-1 is empty"},
    {"start:icount:5:ranks1-", 23, "expects an integer"},
    {"start:icount:5:ranks1+x", 23, "expects an integer"},
    {"start:icount:5:ranks4294967296", 21, "too large"},
    /* Values */
    {"start:address", 14, "address expects an address"},
    {"start:address:401000", 15, "an absolute address is written 0x..."},
    {"start:address:0x12g", 19, "address expects an integer"},
    {"start:address:0x11112222333344445", 15, "does not fit 64 bits"},
    {"start:address:+5", 15, "expected the name of an image or symbol before '+'"},
    {"start:address:libm.so+", 23, "the offset after '+' expects an integer"},
    {"start:address:libm.so+zz", 23, "the offset after '+' expects an integer"},
    {"start:ssc:", 11, "ssc expects hexadecimal digits without 0x, found nothing"},
    {"start:ssc:0x1234", 11, "without 0x: write '1234'"},
    {"start:ssc:12g4", 13, "ssc expects hexadecimal digits"},
    {"start:ssc:123456789", 11, "does not fit 32 bits"},
    {"start:itext:909", 13, "odd number of hexadecimal digits (3)"},
    {"start:itext:0x90", 13, "without 0x: write '90'"},
    {"start:itext:9x", 14, "itext expects hexadecimal digits"},
    {"start:itext:00112233445566778899aabbccddeeff", 13,
     "itext has 16 bytes; an instruction has at most 15"},
    {"start:isa_extension:AVX3", 21, "unknown ISA extension 'AVX3', did you mean 'AVX'?"},
    {"start:isa-extension:sse2", 21, "did you mean 'SSE2'"},
    {"start:isa_category:CONDBR", 20, "unknown ISA category 'CONDBR', did you mean 'COND_BR'?"},
    {"start:isa_category:zzzzzz", 20, "legal here: XED's names in upper case"},
    {"start:int3:x", 12, "int3 takes no value; unknown token 'x'"},
    {"start:int3:0", 12, "int3:0 would never fire"},
    {"start:int3:3:count4", 14, "'count' stands twice"},
    {"start:magic:5", 14, "magic expects two integers A.B"},
    {"start:magic:5.", 15, "the second number of magic expects an integer"},
    {"start:magic:.5", 13, "the first number of magic expects an integer"},
    {"start:magic:1.2.3", 16, "the second number of magic expects an integer"},
    {"start:cpuid:0x10000", 13, "cpuid expects an integer below 0x10000"},
    {"start:cpuid:abc", 13, "cpuid expects an integer"},
    {"start:pcontrol", 15, "pcontrol expects a text, or level=N, found nothing"},
    {"start:pcontrol:level=x", 22, "level= expects an integer"},
    {"start:pcontrol:level=4294967296", 22, "is an int"},
    {"start:enter_func:ns::solve", 21, "expected a token after ':', found nothing"},
    {"start:enter_func:ns::solve", 21, "a value that holds ':' or ',' must be in quotes"},
    {"start:enter_func:a:b", 20, "a value that holds ':' or ',' must be in quotes"},
    {"start:enter_func:\"ns::solve", 18, "this quote is not closed"},
    {"start:enter_func:\"\"", 18, "the quotes are empty"},
    {"start:enter_func:a\"b\"", 19, "a quote must stand around the whole value"},
    {"start:enter_func:\"a\"b", 21, "text after the closing quote"},
    {"start:exit_func:", 17, "exit_func expects the name of a function, found nothing"},
    {"start:interactive:now", 19, "interactive takes no value; unknown token 'now'"},
    {"start:timeout:", 15, "timeout expects a number of seconds"},
    {"start:timeout:0", 15, "a timeout of '0' is too short; it must be at least 100us"},
    {"start:timeout:99us", 15, "must be at least 100us"},
    {"start:timeout:1h", 16, "or one with 's', 'ms' or 'us', as 500ms; found '1h'"},
    {"start:timeout:1d", 16, "or one with 's', 'ms' or 'us', as 500ms; found '1d'"},
    {"start:timeout:0.5", 16, "as 500ms; found '0.5'"},
    {"start:timeout:5xs", 16, "as 500ms; found '5xs'"},
    {"start:timeout:0xgs", 17, "timeout expects an integer"},
    {"start:timeout:5m", 16, "timeout expects an integer"},
    {"start:timeout:ms", 15, "timeout expects an integer"},
    {"start:timeout:99999999999", 15, "is more than 292 years"},
    {"start:signal:SIGUSR3", 14, "unknown signal 'SIGUSR3', did you mean 'SIGUSR1'?"},
    {"start:signal:0", 14, "signal numbers are 1 to 64"},
    {"start:signal:65", 14, "signal numbers are 1 to 64"},
    {"start:signal:9", 14, "is never delivered to a program"},
    {"start:signal:SIGSTOP", 14, "is never delivered to a program"},
    {"start:signal:SIGRTMIN+31", 14, "unknown signal"},
    {"start:image_load:", 18, "image_load expects a file name"},
    /* Uniform */
    {"uniform", 8, "the period of uniform is missing; write 'uniform:PERIOD:LENGTH:COUNT'"},
    {"uniform:800", 12, "the length of uniform is missing"},
    {"uniform:800:500", 16, "the count of uniform is missing"},
    {"uniform:800:x:5", 13, "the length of uniform expects an integer"},
    {"uniform:500:800:5", 9, "is shorter than its length (800)"},
    {"uniform:800:0:5", 13, "it must be at least 1"},
    {"uniform:800:500:0", 17, "it must be at least 1"},
    {"uniform:800:500:5:global", 19, "unknown token 'global'"},
    {"uniform:800:500:5:count3", 19, "legal here: tidN, ranksLIST"},
    {"uniform:8:5:1,uniform:8:5:1", 15, "a second uniform"},
    {"uniform:8:5:1;uniform:8:5:1", 1, "a second uniform; chain 1 has one"},
    {"uniform:8:5:1:ranks0-3;uniform:8:5:1", 1, "only one is allowed in all chains of a rank"},
    {"uniform:8:5:1:ranks0-3+9;uniform:8:5:1:ranks5;uniform:8:5:1:ranks6-9", 1,
     "a second uniform; chain 1 has one"},
    {"start:uniform:8:5:1", 7, "unknown alarm type 'uniform'"},
    /* Names */
    {"start:icount:5,name", 20, "expected the name of a chain"},
    {"start:icount:5,name:", 21, "expected the name of a chain"},
    {"start:icount:5,name:a b", 22, "a chain's name consists of letters"},
    {"start:icount:5,name:a,name:b", 23, "'name' stands twice"},
    {"start:icount:5,name:a:b", 22, "nothing may follow 'name:ID'"},
    {"start:icount:5,waitfor:a,waitfor:b", 26, "'waitfor' stands twice"},
    {"start:icount:5,waitfor:x", 24, "waitfor of an unknown chain 'x'; no chain has a name"},
    {"start:icount:5,name:setup;stop:icount:5,waitfor:setpu", 23,
     "did you mean 'setup'?; named chains are: setup"},
    {"start:icount:5,name:a;stop:icount:5,name:a", 20, "the name 'a' is already that of chain 1"},
    {"start:icount:5,name:a,waitfor:a", 31, "the chain waits for itself"},
    {"start:icount:5,name:a,waitfor:b;stop:icount:5,name:b,waitfor:a", 31,
     "this chain waits for itself, by 'b'"},
    /* Characters */
    {"start:pcontrol:a\tb\x01", 19, "control character 0x01"},
    {"start:\xe2\x80\x93icount:5", 7, "did you mean 'icount'"},
    {"start:pcontrol:\xc3\xbc\xc3\xbc:x", 19, "unknown token 'x'"},
    {"start:icount:5:1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:g:h:i:j:k:l:m", 58, "more than 24 fields"},
};

/* Returns the column that the message names, or 0 if it names none. */
static unsigned column_of(const char *text)
{
    const char *at = strstr(text, "\", column ");
    return at != NULL ? (unsigned)strtoul(at + 10, NULL, 10) : 0;
}

/* Returns true if the caret stands under the column that the first line names. */
static bool caret_agrees(const char *text)
{
    const char *second = strchr(text, '\n');
    const char *third = second != NULL ? strchr(second + 1, '\n') : NULL;
    if (third == NULL || strchr(third + 1, '\n') != NULL)
        return false;
    if (strstr(text, "...") != NULL)
        return strchr(third, '^') != NULL; /* clipped text; the column is that of the chain */
    return strspn(third + 1, " ") - 2 + 1 == column_of(text) && strchr(third, '^')[1] == '\0';
}

static void check(const struct wrong *row)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config;
    if (row->chain[0] == '\0') {
        struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
        config = ctl_builder_add_chain(builder, "", "-control", &err) == 0 ? (void *)builder : NULL;
        ctl_builder_free(builder);
    } else {
        config = config_of(row->chain, NULL, &err);
    }
    size_t first_line = strcspn(err.text, "\n");
    const char *found = strstr(err.text, row->words);
    bool words = found != NULL && (size_t)(found - err.text) < first_line;
    bool column = column_of(err.text) == row->column;
    if (!ok(config == NULL && words && column && caret_agrees(err.text), "'%s'", row->chain))
        diag("want column %u and \"%s\", got: %s", row->column, row->words, err.text);
}

static void check_long(void)
{
    char chain[4000] = "start:pcontrol:";
    memset(chain + strlen(chain), 'x', 3000);
    strcat(chain, ":cuont3");
    struct rt_error err = {.text = ""};
    struct ctl_config *config = config_of(chain, NULL, &err);
    size_t first_line = strcspn(err.text, "\n");
    ok(config == NULL &&
           strstr(err.text, "column 3017: unknown token 'cuont3', did you mean 'count'?") != NULL &&
           first_line < 600,
       "a long chain is clipped in the message, its column is not");
}

static void check_capabilities(void)
{
    struct ctl_capabilities capabilities = {{0}, "no counter can be stopped so exactly here"};
    capabilities.unavailable_reason[CTL_ICOUNT] = "this machine has no instruction counter";
    static const struct {
        const char *chain, *words;
        unsigned column;
    } rows[] = {
        {"start:pcontrol:a,stop:icount:5",
         "icount is not available: this machine has no instruction counter", 18},
        {"uniform:8:5:1", "uniform is not available: this machine has no instruction counter", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rt_error err = {.text = ""};
        struct ctl_config *config;
        struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
        int added = ctl_builder_add_chain(builder, rows[i].chain, "-control", &err);
        int finished = ctl_builder_finish(builder, &capabilities, &config, &err);
        ok(added == 0 && finished != 0 && config == NULL &&
               strstr(err.text, rows[i].words) != NULL && column_of(err.text) == rows[i].column,
           "unavailable: '%s'", rows[i].chain);
        ctl_builder_free(builder);
    }
    capabilities.unavailable_reason[CTL_ICOUNT] = NULL;
    struct rt_error err = {.text = ""};
    struct ctl_config *config;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    int added = ctl_builder_add_chain(builder, "start:icount:5:exact", "-control", &err);
    int finished = ctl_builder_finish(builder, &capabilities, &config, &err);
    ok(added == 0 && finished != 0 &&
           strstr(err.text, "'exact' is not available: no counter can be") != NULL,
       "unavailable: exact");
    ctl_builder_free(builder);
}

/* A wrong chain leaves the builder unchanged, so that a caller may report it and continue. */
static void check_rollback(void)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    bool passed =
        ctl_builder_add_chain(builder, "start:ssc:1", "-control", &err) == 0 &&
        ctl_builder_add_list(builder, "stop:ssc:2;stop:scc:3", "REGTRACE_CONTROL", &err) != 0 &&
        strncmp(err.text, "chain 3 (REGTRACE_CONTROL) \"stop:scc:3\", column 6:", 49) == 0 &&
        ctl_builder_add_chain(builder, "stop:ssc:4", "-control", &err) == 0 &&
        ctl_builder_finish(builder, NULL, &config, &err) == 0 &&
        strcmp(ctl_config_text(config), "start:ssc:1\nstop:ssc:4\n") == 0;
    ok(passed, "a failure leaves the builder as it was");
    ctl_config_free(config);
    ctl_builder_free(builder);
}

int main(void)
{
    size_t rows = sizeof table / sizeof table[0];
    plan((int)rows + 5);
    for (size_t i = 0; i < rows; i++)
        check(&table[i]);
    check_long();
    check_capabilities();
    check_rollback();
    return done_testing();
}
