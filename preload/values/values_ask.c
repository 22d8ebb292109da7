/* SPDX-License-Identifier: BSD-3-Clause
 * Asks regtrace-vprofiler over a socket what to do with an instruction: the traced process holds
 * neither plug-in nor decoder. */
#include "preload/values/values_ask.h"

#include "base/log.h"
#include "base/sys.h"
#include "preload/helper.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BEGIN_MS 10000
#define ANSWER_MS 100 /* after that, the sample has no values */
#define PATIENCE 20u  /* so many late answers in a row: the program hangs */
#define NOP 0x90
#define NOP_ADDRESS 0x1000

static struct helper helper = HELPER_NONE;
static const char *arguments[4] = {helper.program, "--answer"};
static bool gone; /* the program is gone for good */
static unsigned late;
static struct values_answer received;

/* `said` receives its standard error, as the reason if it does not work; -1: nobody reads that. */
static int start(int said)
{
    late = 0;
    return helper_start(&helper, said);
}

static void give_up(const char *why)
{
    helper_drop(&helper);
    gone = true;
    log_line(LOG_ERROR, why);
}

/* Skips answers to earlier questions that no caller waited for. */
static int exchange(const struct values_question *q, struct values_answer *a, int ms)
{
    int rc = helper_put(&helper, q, sizeof *q, 0);
    do {
        rc = rc == 0 ? helper_get(&helper, &received, sizeof received, ms) : rc;
    } while (rc == 0 && received.address != q->address);
    if (rc == 0)
        memcpy(a, &received, sizeof *a);
    return rc;
}

bool values_ask(const struct values_question *q, struct values_answer *a)
{
    if (gone)
        return false;
    if (!helper_is_there(&helper) && start(-1) != 0) {
        give_up("no further values: regtrace-vprofiler cannot be started in this process");
        return false;
    }
    int rc = exchange(q, a, ANSWER_MS);
    if (rc == 0)
        late = 0;
    else if (rc != -EAGAIN)
        give_up("regtrace-vprofiler has ended: only instructions that were met before have values");
    else if (++late == PATIENCE)
        give_up("regtrace-vprofiler does not answer: only instructions that were met before have "
                "values");
    return rc == 0;
}

void values_ask_forked(void)
{
    helper_drop(&helper);
}

/* Takes the reason from the first line of its standard error. */
static void take_reason(int said, struct rt_error *e)
{
    char text[400];
    ssize_t n = said >= 0 ? pread(said, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    rt_error_set(e, VALUES_REFUSED ": %s", text[0] != '\0' ? text : VALUES_CRASHED);
}

int values_ask_begin(const char *wanted, struct rt_error *e)
{
    struct values_question nop = {.address = NOP_ADDRESS, .bytes = {NOP}, .count = 1};
    struct values_answer answer;
    if (helper_find(&helper, "regtrace-vprofiler", e) != 0) {
        rt_error_set(e, VALUES_MISSING);
        return -EINVAL;
    }
    arguments[2] = wanted;
    helper.arguments = arguments;
    int said = memfd_create("regtrace-vprofiler", MFD_CLOEXEC);
    int rc = start(said);
    if (rc != 0) {
        rt_error_set(e, "%s cannot be started: %s", helper.program, strerror(-rc));
        rc = -EAGAIN;
    } else if ((rc = exchange(&nop, &answer, BEGIN_MS)) == -EAGAIN) {
        rt_error_set(e, "%s does not answer", helper.program);
    } else if (rc != 0) {
        take_reason(said, e);
        rc = -EINVAL;
    }
    if (said >= 0)
        (void)sys_call6(SYS_close, said, 0, 0, 0, 0, 0);
    if (rc != 0)
        values_ask_forked();
    return rc;
}
