/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of regtrace-isa. argv[0] is the command's name; returns the exit status. */
#ifndef REGTRACE_ISA_COMMANDS_H
#define REGTRACE_ISA_COMMANDS_H

/* Finds where images must be patched. Defined in isa/plan/sites_main.c. */
int sites_main(int argc, char **argv);

/* Analyses functions for memory traces, and replays recordings. Defined in
 * isa/memory/skel_main.c. */
int skel_main(int argc, char **argv);

#endif
