#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ends conversions by signals at random moments.

usage: unfinished.py REGTRACE RUN ROUNDS, in an empty folder. Prints a line for each command: its
name, how many the signal ended, how many were done before, and what was wrong ("-": nothing)."""
import filecmp
import glob
import os
import random
import signal
import subprocess
import sys
import time

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
COMMANDS = {
    "prv": ["prv", "-o"],
    "emulate": ["emulate", "-o"],
    "csv": ["export", "-csv"],
    "chrome": ["export", "-chrome"],
    "ovni": ["export", "-ovni"],
    "otf2": ["export", "-otf2"],
    "html": ["timeline", "-o"],
    "svg": ["timeline", "-svg"],
}


def same(a, b):
    """Returns whether two files or folders have the same bytes."""
    if os.path.isfile(a):
        return os.path.isfile(b) and filecmp.cmp(a, b, shallow=False)
    names = sorted(os.listdir(a))
    return os.path.isdir(b) and names == sorted(os.listdir(b)) and all(same(os.path.join(a, n), os.path.join(b, n)) for n in names)


def defaults():
    """Resets the signals: a harness may ignore some of them."""
    for s in SIGNALS:
        signal.signal(s, signal.SIG_DFL)


def killed(command, out, sig, delay):
    """Sends the signal `delay` seconds after the output has appeared; returns the command's status.
    """
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=defaults)
    unfinished = f"{out}.unfinished-{p.pid}"
    while p.poll() is None and not os.path.exists(unfinished):
        time.sleep(0.001)
    time.sleep(delay)
    p.send_signal(sig)
    return p.wait()


def rounds(regtrace, run, name, arguments, count):
    whole, out = f"{name}.whole", f"{name}.out"
    subprocess.run([regtrace, *arguments, whole, run], check=True, stdout=subprocess.DEVNULL)
    begun = time.monotonic()
    subprocess.run([regtrace, *arguments, whole, "-force", run], check=True, stdout=subprocess.DEVNULL)
    takes = time.monotonic() - begun
    ended, wrong = 0, []
    for i in range(count):
        force = i % 2 == 1  # the old output stays until the new one is complete
        sig = SIGNALS[i % len(SIGNALS)]
        subprocess.run(["rm", "-rf", out], check=True)
        if force:
            subprocess.run(["cp", "-a", whole, out], check=True)
            stamp = os.stat(out).st_ino
        status = killed([regtrace, *arguments, out, *(["-force"] if force else []), run], out, sig, random.random() * takes / 2)
        left = glob.glob(f"{out}?*")
        if left:
            wrong.append(f"{left} is left by {sig.name}")
        if status not in (0, -sig):
            wrong.append(f"status {status} after {sig.name}")
        if os.path.exists(out) and not same(whole, out):
            wrong.append(f"{out} is there and not whole")
        if status == 0 and not os.path.exists(out):
            wrong.append(f"{out} is not there")
        if force and status != 0 and not os.path.exists(out):
            wrong.append(f"{out} was taken away")
        if force and status == 0 and os.stat(out).st_ino == stamp:
            wrong.append(f"{out} was not replaced")
        ended += status == -sig
    print(name, ended, count - ended, "; ".join(wrong) or "-", flush=True)


def main():
    regtrace, run, count, *names = sys.argv[1:]
    random.seed(1)
    for name in names:
        rounds(regtrace, run, name, COMMANDS[name], int(count))


main()
