/* SPDX-License-Identifier: BSD-3-Clause
 * What a recording of skeletons holds, a stream of bytes for each thread, in the order of execution. Numbers are little-endian.
 *
 * Between functions there are tokens (enum skel_token). Within an analysed function there is what its plan says, in this order:
 *   - as it is entered: recorded V_ENTRY values, the stack pointer first, then those that direct callers know (struct function: passed) by
 *     number of the register, then the others by number of the value;
 *   - as a block is entered: recorded phis of it, by number;
 *   - of each instruction: addresses of recorded accesses, in their order (8 bytes, without the base of fs or gs; of repeated ones rcx
 *     besides, 8 bytes, and of repeated comparisons, which may end before, rcx as they have left it, 8 bytes); where it accesses some
 *     elements of a vector's operand alone, the registers that say which (lanes.h); where it is a call, the tokens until it has returned;
 *     recorded values that it has left, by number;
 *   - at its end: if the outcome is recorded, a byte with the number of the successor that it went to, the first of those that begin
 *     there; of tables two bytes, and the number of successors where it goes elsewhere: there the stream ends.
 * Calls, and jumps out of a function, to functions that are called directly (direct.h) have no tokens: what is called stands in their place,
 * without its own token, without the stack pointer, which is where the call has put its return address, and without what callers know; of that, what
 * this caller cannot compute comes before it (struct argument), by number of the register. No TOKEN_RESUME follows.
 * A value has as many bytes as skel_value_bytes() says: those above are zero, or matter to nobody. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_STREAM_H
#define REGTRACE_ISA_MEMORY_REPLAY_STREAM_H

#include "base/format/clone.h" /* enum skel_token */

#endif
