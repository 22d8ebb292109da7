# SPDX-License-Identifier: BSD-3-Clause
"""Pairs the sends and receives that call_log.c has logged, by the rule of MPI: messages of one
communicator, sender, receiver and tag are received in the order in which they were sent, by the
receives in the order of posting.

usage: logged.py LOG... >messages: a line for each message whose send and completed receive were in
windows: message, number of the send, sender, receiver, tag. On standard error: how many messages
there were, and in windows; the exit code is 1 if a send or receive has no partner.
"""
import collections
import sys

sends = collections.defaultdict(list)
receives = collections.defaultdict(list)
for path in sys.argv[1:]:
    posted, cancelled, own_sends = {}, set(), []
    with open(path) as log:
        for line in log:
            kind, number, *rest = line.split()
            if kind == 'send':
                own_sends.append((number, rest))
            elif kind == 'receive':
                posted[number] = [rest, None]
            elif kind == 'done':
                posted[number][1] = rest
            else:
                cancelled.add(number)
    for number, (comm, sender, receiver, tag, window) in own_sends:
        if number not in cancelled:
            sends[comm, sender, receiver, tag].append((number, window))
    for number, ((comm, receiver), done) in posted.items():
        if done is not None:
            sender, tag, window = done
            receives[comm, sender, receiver, tag].append(window)
        elif number not in cancelled:
            print('never completed:', path, number, comm, file=sys.stderr)

total = found = alone = 0
for key in sorted(sends.keys() | receives.keys()):
    _, sender, receiver, tag = key
    if len(sends[key]) != len(receives[key]):
        alone += abs(len(sends[key]) - len(receives[key]))
        print('alone:', *key, len(sends[key]), len(receives[key]), file=sys.stderr)
    for (number, sent), received in zip(sends[key], receives[key]):
        total += 1
        if sent == '1' and received == '1':
            found += 1
            print('message', number, sender, receiver, tag)
print(total, found, alone, file=sys.stderr)
sys.exit(alone != 0)
