"""One `tune dashboard`, and raw connections to it."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

#: Nothing here takes longer; a server that hangs must not hang the tests.
LIMIT_S = 240


class Server:
    def __init__(self, directory: str, *words: str, **environment: str) -> None:
        plain = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION")}
        self.process = subprocess.Popen([os.environ["TUNE"], "dashboard", *words], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**plain, **environment})
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)/#token=([0-9a-f]{64})\n", self.first)
        assert found, self.first
        self.address, self.port, self.token = found[1].strip("[]"), int(found[2]), found[3]

    def close(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGINT)
        # Not by `communicate`, which leaves out what stands in the buffer behind the first line.
        out, err = self.process.stdout.read(), self.process.stderr.read()
        return self.process.wait(LIMIT_S), self.first + out, err

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S)
        return connection

    def raw(self, text: bytes) -> bytes:
        """All that it answers, until it closes."""
        with self.connect() as connection:
            connection.sendall(text)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while block := connection.recv(65536):
                    answer += block
            return answer

    def request(self, target: str, method: str = "GET", body: str = "", token: str | None = "", **fields: str) -> tuple[int, dict[str, str], str]:
        """Status, fields and body. `token`: "" is its own, None is none. A field's '_' stands for '-'."""
        lines = {"Host": f"127.0.0.1:{self.port}", **{name.replace("_", "-"): value for name, value in fields.items()}}
        if token is not None:
            lines["Authorization"] = f"Bearer {token or self.token}"
        if body:
            lines["Content-Length"] = str(len(body.encode()))
        text = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n" + body
        head, _, rest = self.raw(text.encode()).partition(b"\r\n\r\n")
        status, *given = head.decode().split("\r\n")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in given), rest.decode()

    def json(self, target: str) -> Any:
        status, _, body = self.request(target)
        assert status == 200, body
        return json.loads(body)

    def report(self, number: int = 0) -> Any:
        return self.json(f"/api/e/{number}/report")["experiments"][0]

    @contextlib.contextmanager
    def stream(self, since: int, number: int = 0) -> Iterator[Iterator[tuple[str, Any]]]:
        """Kind and data of each event."""
        with self.connect() as connection:
            connection.sendall(f"GET /api/e/{number}/stream?since={since} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
            yield self.events(connection)

    @staticmethod
    def events(connection: socket.socket) -> Iterator[tuple[str, Any]]:
        with connection.makefile("r", encoding="utf-8", newline="\n") as lines:
            while lines.readline().strip():
                pass  # the head
            kind = ""
            for line in lines:
                if line.startswith("event: "):
                    kind = line[7:].strip()
                elif line.startswith("data: "):
                    yield kind, json.loads(line[6:])
