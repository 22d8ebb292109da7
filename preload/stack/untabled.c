/* SPDX-License-Identifier: BSD-3-Clause
 * Compilers at run time that tell perf the names of their functions (a perf map) also keep frame
 * pointers, without which perf could not walk through their code. One exception is CPython's
 * trampoline, a frame without a frame pointer. So the instructions after a call are looked at
 * first: if they remove the frame and return, they show where it ends. */
#include "preload/stack/untabled.h"

#include "base/decimal.h"
#include "base/sys.h"
#include "preload/images/image_records.h"
#include "preload/process.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

enum { WORD = sizeof(uintptr_t) };

static bool map_exists(uint32_t pid)
{
    static const char before[] = "/tmp/perf-", after[] = ".map";
    char path[sizeof before + DECIMAL_ROOM + sizeof after];
    memcpy(path, before, sizeof before);
    char *end = decimal_put(path + sizeof before - 1, pid);
    memcpy(end, after, sizeof after);
    return sys_call6(SYS_faccessat, AT_FDCWD, (long)path, 0, 0, 0, 0) == 0;
}

static bool has_map(void)
{
    static _Atomic uint32_t known; /* the process that has one; its children may have none */
    uint32_t pid = process.pid;
    if (atomic_load_explicit(&known, memory_order_relaxed) == pid)
        return true;
    if (!map_exists(pid))
        return false;
    atomic_store_explicit(&known, pid, memory_order_relaxed);
    return true;
}

/* Decodes "add $n,%rsp", pops and a return. Returns false if there is anything else. */
static bool read_epilogue(uintptr_t back, struct untabled_frame *out)
{
    enum { ADD_REX = 0x48, ADD = 0x83, TO_RSP = 0xc4, POP = 0x58, POP_RBP = 0x5d, RET = 0xc3 };
    uint8_t code[16] = {0};
    int at = 0, popped = 0, rbp = 0;
    if (sys_read_self(back, code, sizeof code) <= 0)
        return false;
    if (code[0] == ADD_REX && code[1] == ADD && code[2] == TO_RSP && code[3] < 0x80) {
        popped = code[3];
        at = 4;
    }
    for (; at < (int)sizeof code - 2 && code[at] != RET; at++) {
        at += code[at] == 0x41; /* r8 to r15 */
        if ((code[at] & 0xf8) != POP)
            return false;
        if (code[at] == POP_RBP && code[at - (at > 0)] != 0x41)
            rbp = popped + 1;
        popped += WORD;
    }
    if (code[at] != RET)
        return false;
    out->by_stack = true;
    out->cfa = (int16_t)(popped + WORD);
    out->frame = (int16_t)(rbp != 0 ? rbp - 1 - out->cfa : 0);
    return true;
}

bool untabled_frame(uintptr_t at, bool interrupted, struct untabled_frame *out)
{
    struct image_facts m;
    if (!has_map())
        return false;
    *out =
        (struct untabled_frame){.cfa = 2 * WORD, .frame = -2 * WORD, .is_image = image_of(at, &m)};
    if (!interrupted)
        (void)read_epilogue(at + 1, out);
    return true;
}
