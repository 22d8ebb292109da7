/* SPDX-License-Identifier: BSD-3-Clause
 * Function names as users write them. */
#ifndef REGTRACE_BASE_NAMES_NAME_H
#define REGTRACE_BASE_NAMES_NAME_H

#include <stddef.h>

/* Finds a word that every symbol that the name can match contains, mangled or not: the last one
 * before a bracket or a version, "solve" in solve, ns::solve(int) and solve@@V2, "Grid" in
 * ns::Grid<3>::solve. Points *word into the name and returns the length of the word, or 0 if there
 * is none, as for operators. */
size_t name_last_word(const char *name, const char **word);

#endif
