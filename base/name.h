/* SPDX-License-Identifier: BSD-3-Clause
 * Function names as users write them. */
#ifndef REGTRACE_BASE_NAME_H
#define REGTRACE_BASE_NAME_H

#include <stddef.h>

/* Finds the last word of a name: "solve" in solve, solve(int), ns::Grid<3>::solve and solve@@V2.
 * Every symbol that the name can match contains that word, mangled or not. Points *word into the
 * name and returns the length of the word, or 0 if there is none, as for operators. */
size_t name_last_word(const char *name, const char **word);

#endif
