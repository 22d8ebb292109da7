/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions that the oracle must know, read from a stopped thread's memory. */
#ifndef T_ORACLE_TEXT_H
#define T_ORACLE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/user.h>

/* Has the instruction at ip a repeat prefix? */
bool text_has_repeat(pid_t tid, uint64_t ip);
/* The address behind the mov to ss at ip, where the processor makes no stop; 0: it is none. */
uint64_t text_behind_mov_ss(pid_t tid, uint64_t ip);
/* A line "regs 0xADDRESS RAX ... R15". */
void text_say_registers(FILE *out, const struct user_regs_struct *r);

#endif
