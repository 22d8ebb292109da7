# SPDX-License-Identifier: BSD-3-Clause
"""Drives a headless Chromium by its DevTools protocol, over a WebSocket client with the standard
library alone."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request


def program():
    """Returns the path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Socket:
    """A WebSocket client (RFC 6455) for whole text messages."""

    def __init__(self, host, port, path, timeout):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: "
                "Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
            ).encode()
        )
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self._some()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise OSError(f"no WebSocket: {head!r}")

    def _some(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise OSError("the browser has closed the connection")
        return got

    def _take(self, n):
        parts = [self.rest]
        have = len(self.rest)
        while have < n:
            parts.append(self._some())
            have += len(parts[-1])
        all_of_it = b"".join(parts)
        self.rest = all_of_it[n:]
        return all_of_it[:n]

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        head = (
            bytes([0x81, 0x80 | n])
            if n < 126
            else struct.pack("!BBH", 0x81, 0xFE, n)
            if n < 65536
            else struct.pack("!BBQ", 0x81, 0xFF, n)
        )
        self.socket.sendall(head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, second = self._take(2)
            n = second & 127
            if n == 126:
                n = struct.unpack("!H", self._take(2))[0]
            elif n == 127:
                n = struct.unpack("!Q", self._take(8))[0]
            data = self._take(n)
            if first & 15 in (0, 1):
                text += data
                if first & 128:
                    return text.decode()
            elif first & 15 == 8:
                raise OSError("the browser has closed the WebSocket")


class Browser:
    """A browser. Usage: with Browser(width, height) as b: b.open(path); b.run("1 + 1")."""

    def __init__(self, width=1400, height=900, dark=False, timeout=60):
        self.home = tempfile.mkdtemp(prefix="browser.")
        self.timeout = timeout
        self.errors = []
        self.requests = []
        self.number = 0
        self.process = subprocess.Popen(
            [
                program(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={self.home}",
                f"--window-size={width},{height}",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "HOME": self.home},
        )
        try:
            self._connect()
            self.call("Page.enable")
            self.call("Runtime.enable")
            self.call("Log.enable")
            self.call("Network.enable")
            self.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
            self.prefer("dark" if dark else "light")
        except BaseException:
            self.close()
            raise

    def _connect(self):
        end = time.monotonic() + self.timeout
        port = os.path.join(self.home, "DevToolsActivePort")
        while not (os.path.exists(port) and os.path.getsize(port)):
            if time.monotonic() > end or self.process.poll() is not None:
                raise OSError("chromium does not start")
            time.sleep(0.05)
        with open(port, encoding="ascii") as file:
            number = int(file.readline())
        while True:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{number}/json/list", timeout=self.timeout
            ) as answer:
                pages = [p for p in json.load(answer) if p["type"] == "page"]
            if pages:
                break
            time.sleep(0.05)
        self.socket = Socket("127.0.0.1", number, "/devtools/page/" + pages[0]["id"], self.timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Kills the browser's whole session, of which this process is the leader."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        for _ in range(20):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                break
            time.sleep(0.1)

    def _take(self):
        message = json.loads(self.socket.receive())
        method, params = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        return message

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = self._take()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def open(
        self,
        path,
        fragment="",
        ready="window.regtrace && regtrace.store.done && regtrace.timings.loaded > 0",
    ):
        self.call("Page.navigate", url="about:blank")
        self.call(
            "Page.navigate", url="file://" + urllib.parse.quote(os.path.abspath(path)) + fragment
        )
        self.wait(ready)

    def run(self, expression):
        """Returns the value of a JavaScript expression; awaits promises."""
        got = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return got["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + self.timeout
        while not self.run(f"!!({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never came true: {expression}; errors: {self.errors}")
            time.sleep(0.03)

    def frame(self):
        """Waits for two frames."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => "
            "done(1))))"
        )

    def prefer(self, scheme):
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def key(self, key, text=None, modifiers=0):
        codes = {
            "Enter": 13,
            "Escape": 27,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
            "Tab": 9,
        }
        more = {"text": text or key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            windowsVirtualKeyCode=codes.get(key, ord(key[0])),
            modifiers=modifiers,
            **more,
        )
        self.call(
            "Input.dispatchKeyEvent",
            type="keyUp",
            key=key,
            windowsVirtualKeyCode=codes.get(key, ord(key[0])),
            modifiers=modifiers,
        )
        self.frame()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1, buttons=1)
        for i in range(1, 6):
            self.mouse(
                "mouseMoved",
                x0 + (x1 - x0) * i / 5,
                y0 + (y1 - y0) * i / 5,
                button="left",
                buttons=1,
            )
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)
        self.frame()

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def shot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
