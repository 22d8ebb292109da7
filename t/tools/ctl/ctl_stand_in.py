# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for either side of regtrace ctl on a busy machine.

The writer breaks off; the client is late or asks twice."""

import glob
import os
import socket
import subprocess
import sys
import time


def listen(folder, name):
    path = f"{folder}/ctl/{name}.sock"
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(8)
    s.settimeout(100)  # if the client gives up, the test fails
    with open(f"{folder}/ctl/new", "w") as f:
        f.write(f"{os.uname().nodename}\n{path}\n")
    os.rename(f"{folder}/ctl/new", f"{folder}/ctl/{name}.path")
    return s


def line_of(c):
    text = b""
    while not text.endswith(b"\n"):
        more = c.recv(100)
        if not more:
            break
        text += more
    return text.decode()


def serve(folder):
    s = listen(folder, "rank-00003.77")
    for step in ("closed at once", "read", "half", "again", "answered"):
        c, _ = s.accept()
        if step != "closed at once":
            print(line_of(c), end="", flush=True)
        if step == "half":
            c.sendall(b'{"ok":tr')
        elif step == "again":
            c.sendall(b'{"ok":false,"again":true,"error":"too many"}\n')
        elif step == "answered":
            c.sendall(b'{"ok":true,"fired":1,"counted":0}\n')
        c.close()
    s.close()


def leave(folder):
    s = listen(folder, "rank-00004.78")
    c, _ = s.accept()
    line_of(c)
    os.unlink(f"{folder}/ctl/rank-00004.78.path")
    s.close()
    c.close()


def connect(folder):
    (path,) = glob.glob(f"{folder}/ctl/*.path")
    s = socket.socket(socket.AF_UNIX)
    s.connect(open(path).read().split("\n")[1])
    return s


def ask(s, text):
    s.sendall(text.encode())
    return line_of(s)


def late(folder, regtrace):
    s = connect(folder)
    for _ in range(3):
        subprocess.run([regtrace, "ctl", folder, "status"], check=True, stdout=subprocess.DEVNULL)
    s.sendall(b"fi")
    subprocess.run([regtrace, "ctl", folder, "status"], check=True, stdout=subprocess.DEVNULL)
    answer = ask(s, "re\n")
    assert answer == '{"ok":true,"fired":1,"counted":0}\n', answer


def twice(folder):
    first, second = connect(folder), connect(folder)
    first.sendall(b"fire id 5a\n")
    answers = [ask(second, "fire id 5a\n"), line_of(first), ask(connect(folder), "fire id 5a\n")]
    (path,) = glob.glob(f"{folder}/ctl/*.path")
    base = path[: -len(".path")]
    with open(base + ".new", "w") as f:
        f.write("fire id 5a\n")
    os.rename(base + ".new", base + ".request")
    while not os.path.exists(base + ".answer-5a"):
        time.sleep(0.01)
    answers.append(open(base + ".answer-5a").read())
    os.unlink(base + ".answer-5a")
    assert answers == ['{"ok":true,"fired":1,"counted":0}\n'] * 4, answers


globals()[sys.argv[1]](*sys.argv[2:])
