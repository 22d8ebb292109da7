#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the messages in an export of a run of t/tools/messages/exchange.c, by another reader.

usage: exported_messages.py FORMAT EXPORT [LOG...]

FORMAT: chrome (a file), otf2 (a file with the output of otf2-print -G and otf2-print). Each send
and each receive must lie in a call of its kind, and times must not go back in a thread. The sends,
identified by the numbers in marks, and the receives must be lines of the LOGs, each line once.
Prints what is wrong and fails; else prints each message:

- chrome: send_ns received_ns sender sending_thread receiver receiving_thread sent tag bytes
- otf2: sent sender receiver tag bytes
"""
import collections
import json
import re
import sys

wrong = []
SENDS = re.compile(r"MPI_(I?[bsr]?send|Start|Startall|I?sendrecv(_replace)?)$", re.IGNORECASE)
RECEIVES = re.compile(
    r"MPI_(M?recv|Sendrecv(_replace)?|(Wait|Test)(|all|any|some))$", re.IGNORECASE
)


def complain(text):
    if len(wrong) < 20:
        wrong.append(text)


class Thread:
    def __init__(self, rank, number):
        self.rank, self.number, self.stack, self.last, self.posts = rank, number, [], -1, {}
        self.sent = 0

    def time(self, ns):
        if ns < self.last:
            complain(f"rank {self.rank}: the time goes back from {self.last} to {ns}")
        self.last = ns

    def mark(self, title, value, ns):
        if title == "mark 1":
            self.sent = value
        elif title == "mark 2":
            self.posts[value] = ns

    def inside(self, pattern, ns):
        if not self.stack or not pattern.match(self.stack[-1]):
            complain(f"rank {self.rank}, {ns}: the end of a message lies in {self.stack[-1:]}")


def read_chrome(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    ranks, threads, sends, receives, order = {}, {}, {}, {}, []
    for e in events:
        where = (e["pid"], e["tid"])
        if e["ph"] == "M":
            if e["name"] == "process_name":
                ranks[e["pid"]] = int(e["args"]["name"].split()[1])
            elif e["name"] == "thread_name":
                threads[where] = Thread(ranks[e["pid"]], int(e["args"]["name"].split()[1]))
            continue
        t, ns = threads[where], round(e["ts"] * 1000)
        t.time(ns)
        if e["ph"] == "B":
            t.stack.append(e["name"])
        elif e["ph"] == "E":
            t.stack.pop()
        elif e["ph"] == "C":
            t.mark(e["name"].split(",")[0], next(iter(e["args"].values())), ns)
        elif e["ph"] in "sf":
            to = sends if e["ph"] == "s" else receives
            t.inside(SENDS if e["ph"] == "s" else RECEIVES, ns)
            if (
                (e["cat"], e["name"]) != ("message", "message")
                or e["id"] in to
                or (e["ph"] == "f") != (e.get("bp") == "e")
            ):
                complain(f"{e} is no end of a message, or one more")
            to[e["id"]] = (ns, t, t.sent, e["args"])
            order.append(e["id"])
    if set(sends) != set(receives):
        complain(f"ends without another: {sorted(set(sends) ^ set(receives))[:5]}")
    messages = []
    for i in dict.fromkeys(order):
        if i not in sends or i not in receives:
            continue
        (s_ns, s, sent, a), (r_ns, r, _, b) = sends[i], receives[i]
        if a != b or a["from_rank"] != s.rank or a["to_rank"] != r.rank or r_ns < s_ns:
            complain(f"message {i}: {s_ns} {s.rank} {a}, {r_ns} {r.rank} {b}")
        messages.append((s_ns, r_ns, s, r, sent, a["tag"], a["bytes"]))
    return messages


def check_chrome(messages, log):
    for s_ns, r_ns, s, r, sent, tag, size in messages:
        post = log.pop((sent, s.rank, r.rank, tag, size), None)
        if post is None:
            complain(
                f"{sent} from {s.rank} to {r.rank} with tag {tag}, {size} bytes, is not in the logs"
            )
        elif r.posts.get(post, r_ns + 1) > r_ns:
            complain(f"{sent} is received at {r_ns}, and {post} posted at {r.posts.get(post)}")
        print(s_ns, r_ns, s.rank, s.number, r.rank, r.number, sent, tag, size)


def read_otf2(path):
    groups, threads, sends, receives = {}, {}, [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.split()[0] if line.strip() else ""
            if word == "LOCATION_GROUP":
                m = re.match(r'LOCATION_GROUP +(\d+)  Name: "rank (-?\d+)', line)
                groups[int(m[1])] = int(m[2])
            elif word == "LOCATION":
                m = re.match(r'LOCATION +(\d+)  Name: "thread (\d+).* Group: .* <(\d+)>$', line)
                threads[int(m[1])] = Thread(groups[int(m[3])], int(m[2]))
            if word not in ("ENTER", "LEAVE", "METRIC", "MPI_SEND", "MPI_RECV"):
                continue
            fields = line.split(None, 3)
            t, ns = threads[int(fields[1])], int(fields[2])
            t.time(ns)
            if word == "ENTER":
                t.stack.append(re.search(r'"(.*)"', line)[1])
            elif word == "LEAVE":
                t.stack.pop()
            elif word == "METRIC":
                m = re.search(r'Value: \("(.*)" <\d+>; U?INT64; (-?\d+)\)', line)
                t.mark(m[1], int(m[2]), ns)
            else:
                t.inside(SENDS if word == "MPI_SEND" else RECEIVES, ns)
                m = re.search(
                    r'(?:Sender|Receiver): \d+ \(".*?" <(\d+)>\), Communicator: ".*" <\d+>, '
                    r"Tag: (\d+), Length: (\d+)$",
                    line,
                )
                # The location of the peer, which otf2-print looks up in the communicator.
                peer, tag, size = threads[int(m[1])].rank, int(m[2]), int(m[3])
                if word == "MPI_SEND":
                    sends.append((t.sent, t.rank, peer, tag, size, ns))
                else:
                    receives.append((peer, t.rank, tag, size, ns))
    return sends, receives


def check_otf2(sends, receives, log):
    for one in sends:
        if log.pop(one[:5], None) is None:
            complain(f"{one} is not in the logs")
        print(*one[:5])
    begun, ended = collections.defaultdict(list), collections.defaultdict(list)
    for one in sends:
        begun[one[1:5]].append(one[5])
    for one in receives:
        ended[one[:4]].append(one[4])
    for key in set(begun) | set(ended):
        s, r = sorted(begun[key]), sorted(ended[key])
        if len(s) != len(r) or any(a > b for a, b in zip(s, r)):
            complain(f"{key}: sent at {s}, received at {r}")


def main():
    log = {}
    for path in sys.argv[3:]:
        for line in open(path, encoding="utf-8"):
            sent, post, sender, receiver, tag, size = map(int, line.split()[1:])
            log[sent, sender, receiver, tag, size] = post
    if sys.argv[1] == "chrome":
        check_chrome(read_chrome(sys.argv[2]), log)
    else:
        check_otf2(*read_otf2(sys.argv[2]), log)
    # The recorder may not be able to tell apart requests that threads make at once, so some lines
    # may be left.
    return log


left = main()
for text in wrong:
    print(text, file=sys.stderr)
print(f"{len(left)} left, {sum(key[3] < 100 for key in left)} of one thread", file=sys.stderr)
sys.exit(1 if wrong else 0)
