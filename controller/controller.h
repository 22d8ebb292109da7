/* SPDX-License-Identifier: BSD-3-Clause
 * The control language (chains of alarms, parsed before main) and the automaton that runs the
 * chains in each thread: what other folders may use of controller/.
 *
 * Source: Intel SDE's controller (Pin's InstLib control_manager). Comments mark the rules that this
 * project adds. The user's view is share/doc/control.md. */
#ifndef REGTRACE_CONTROLLER_CONTROLLER_H
#define REGTRACE_CONTROLLER_CONTROLLER_H

#include "controller/automaton/automaton.h"
#include "controller/chains.h"

#endif
