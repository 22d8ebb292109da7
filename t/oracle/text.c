/* SPDX-License-Identifier: BSD-3-Clause
 * Recognizes instructions that the oracle must treat specially. Encodings: Intel's manual, volume
 * 2, tables 2-2, 2-3. */
#include "t/oracle/text.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { LONGEST = 16 };

static void read_text(pid_t tid, uint64_t ip, unsigned char *bytes)
{
    for (unsigned i = 0; i < LONGEST; i += sizeof(long)) {
        long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(ip + i), NULL);
        memcpy(bytes + i, &word, sizeof word);
    }
}

bool text_has_repeat(pid_t tid, uint64_t ip)
{
    unsigned char bytes[LONGEST];
    read_text(tid, ip, bytes);
    for (int i = 0; i < 4; i++) {
        if (bytes[i] == 0xf2 || bytes[i] == 0xf3)
            return true;
        if (bytes[i] != 0x66 && bytes[i] != 0x67)
            return false;
    }
    return false;
}

uint64_t text_after_mov_ss(pid_t tid, uint64_t ip)
{
    unsigned char b[LONGEST];
    unsigned i = 0;
    read_text(tid, ip, b);
    while (i < 4 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0x64 || b[i] == 0x65))
        i++;
    if ((b[i] & 0xf0) == 0x40)
        i++;
    if (b[i] != 0x8e || (b[i + 1] & 0x38) != 0x10)
        return 0;
    unsigned mod = b[i + 1] >> 6, rm = b[i + 1] & 7;
    bool sib = mod != 3 && rm == 4;
    i += 2;
    if ((mod == 0 && (rm == 5 || (sib && (b[i] & 7) == 5))) || mod == 2)
        i += 4;
    else if (mod == 1)
        i += 1;
    return ip + i + sib;
}

bool text_is_sigreturn(pid_t tid, const struct user_regs_struct *r)
{
    return r->rax == SYS_rt_sigreturn &&
           (ptrace(PTRACE_PEEKTEXT, tid, (void *)r->rip, NULL) & 0xffff) == 0x050f;
}

void text_say_registers(FILE *out, const struct user_regs_struct *r)
{
    const unsigned long long all[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
                                        r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
                                        r->r12, r->r13, r->r14, r->r15};
    fprintf(out, "regs 0x%llx", (unsigned long long)r->rip);
    for (int i = 0; i < 16; i++)
        fprintf(out, " %llx", all[i]);
    fputc('\n', out);
}
