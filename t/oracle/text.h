/* SPDX-License-Identifier: BSD-3-Clause
 * Recognizes instructions that the oracle must treat specially, in a stopped thread's memory;
 * prints its registers. */
#ifndef T_ORACLE_TEXT_H
#define T_ORACLE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/user.h>

/* Returns true if the instruction at `ip` has a repeat prefix. */
bool text_has_repeat(pid_t tid, uint64_t ip);
/* Returns the address after a mov to ss at `ip`, where the processor does not stop, or 0 if another
 * instruction is at `ip`. */
uint64_t text_after_mov_ss(pid_t tid, uint64_t ip);
/* Returns true if a thread with these registers is about to call rt_sigreturn. */
bool text_is_sigreturn(pid_t tid, const struct user_regs_struct *r);
/* Prints a line "regs 0xADDRESS RAX ... R15". */
void text_say_registers(FILE *out, const struct user_regs_struct *r);

#endif
