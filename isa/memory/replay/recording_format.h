/* SPDX-License-Identifier: BSD-3-Clause
 * The format of a recording: a stream of bytes for each thread, in the order of execution. Numbers
 * are little-endian.
 *
 * Between functions there are tokens (enum skel_token). Within an analysed function, its plan
 * determines what is recorded, in this order:
 * - At the function's entry: recorded V_ENTRY values. The stack pointer is first, then the
 *   registers that direct callers know (struct function: passed) by number of the register, then
 *   the others by number of the value.
 * - At the start of a block: its recorded phis, by number.
 * - At each instruction:
 *   - Addresses of recorded accesses, in their order: 8 bytes, without the base of fs or gs. For
 *     repeated accesses, rcx follows, 8 bytes. For repeated comparisons, which may end early, rcx
 *     after the instruction follows, 8 bytes.
 *   - If it accesses some elements of a vector operand alone: the registers that select them
 *     (lanes.h).
 *   - If it is a call: the tokens until it has returned.
 *   - Recorded values that it has left, by number.
 * - At the end of a block, if the outcome is recorded: a byte with the number of the successor, or
 *   the first of those that begin at the same place. For jump tables, two bytes, and the number of
 *   successors if the jump goes elsewhere: the stream ends there.
 *
 * Calls of functions that are called directly (direct_calls.h), and jumps to them, have no tokens.
 * The called function takes their place, without its own token, without the stack pointer (the call
 * has put the return address there), and without the values that callers know. Those of them that
 * this caller cannot compute come before (struct argument), by number of the register. No
 * TOKEN_RESUME follows.
 *
 * A value has skel_value_bytes() bytes: those above are zero, or do not matter. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_RECORDING_FORMAT_H
#define REGTRACE_ISA_MEMORY_REPLAY_RECORDING_FORMAT_H

#include "base/format/copy.h" /* enum skel_token */

#endif
