/* SPDX-License-Identifier: BSD-3-Clause
 * Names of functions as users write them. */
#ifndef REGTRACE_BASE_NAME_H
#define REGTRACE_BASE_NAME_H

#include <stddef.h>

/* Finds the last word of a name: solve in solve, solve(int), ns::Grid<3>::solve and solve@@V2.
 * Every symbol that the name can mean contains that word, mangled or not. Returns its length and
 * sets *word, which points into the name; 0 where there is no such word, as in operators. */
size_t name_last_word(const char *name, const char **word);

#endif
