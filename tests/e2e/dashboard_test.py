"""`tune dashboard`: what it tells is what the commands say, it follows a run, and it answers to nobody but its own page."""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from cli_support import LIMIT_S, TUNE, Case, LookingCase, main
from dashboard_server import Server

#: A trial that trains until a file says that it may end.
WAITING = """import os, sys, time
print('loss=1', flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.02)
print('loss=0.5', flush=True)
"""


def waits_for(events: Iterator[tuple[str, Any]], wanted: str, holds: Any = lambda data: True) -> Any:
    for kind, data in events:
        if kind == wanted and holds(data):
            return data
    raise AssertionError(f"the stream has ended without {wanted}")


class Attacked(LookingCase):
    """One server for all; none of this may change what the next one sees."""

    server: Server

    def make(self) -> None:
        self.write("print.py", "import sys\nprint('on stderr', file=sys.stderr)\nprint('loss=1')\n")
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("print.py"), "${args}"], "plain": {}}, "name": "looked_at", "metric": "loss", "mode": "min",
                                 "num_samples": 3, "searcher": "random", "param_space": {"x": {"uniform": [0, 1]}}})
        self.tune("run", "spec.json")
        os.remove(self.path("results/looked_at/trial_00002/stderr.log"))
        os.symlink("/etc/passwd", self.path("results/looked_at/trial_00002/stderr.log"))
        os.remove(self.path("results/looked_at/trial_00001/stdout.log"))
        os.mkfifo(self.path("results/looked_at/trial_00001/stdout.log"))
        type(self).server = Server(self.dir, "results")
        self.addCleanup(self.server.close)

    def answers(self, status: int, target: str, *arguments: Any, **named: Any) -> None:
        got, fields, body = self.server.request(target, *arguments, **named)
        self.assertEqual(got, status, body)
        self.assertEqual(list(json.loads(body)), ["error"])
        self.assertNotIn("Access-Control-Allow-Origin", fields)

    def test_it_tells_what_the_commands_say(self) -> None:
        report = self.server.report()
        status = self.json("status", "results/looked_at")
        for name in ("trials", "states", "ends", "best", "results", "events", "session_end"):
            self.assertEqual(report["status"][name], status[name], name)
        [listed] = self.server.json("/api/experiments")["experiments"]
        self.assertEqual([listed["name"], listed["trials"], listed["best"], listed["is_driven"]], ["looked_at", 3, status["best"], False])
        log = self.server.json("/api/e/0/trials/0/log?stream=stderr")
        self.assertEqual(log, {"trial": 0, "stream": "stderr", "text": "on stderr\n", "left_out": 0})

    def test_the_page_has_no_data_and_allows_nothing_but_itself(self) -> None:
        status, fields, body = self.server.request("/", token=None)
        self.assertEqual(status, 200)
        self.assertIn('{"live":true}', body)
        self.assertNotIn(self.server.token, body)
        self.assertNotIn("http-equiv", body)
        policy = fields["Content-Security-Policy"]
        for rule in ("default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"):
            self.assertIn(rule, policy)
        self.assertNotIn("unsafe", policy)
        for name, value in {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
                            "Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "DENY"}.items():
            self.assertEqual(fields[name], value)

    def test_no_route_answers_without_the_token(self) -> None:
        for target in ("/api/experiments", "/api/e/0/report", "/api/e/0/trials/0/log", "/api/e/0/stream", "/api/e/0/control", "/api/start", "/api/none", "/none"):
            for token in (None, "x", self.server.token[:-1], self.server.token + "0", self.server.token.upper() + "G", "a" * 4000):
                for method in ("GET", "POST"):
                    self.answers(401, target, method, token=token, Content_Type="application/json")
            self.answers(401, f"{target}?token={self.server.token}", token=None)

    def test_other_hosts_and_targets_are_refused(self) -> None:
        for host in ("evil.example", f"0.0.0.0:{self.server.port}", "localhost.evil.example"):
            self.answers(403, "/", Host=host)
            self.answers(403, "/api/experiments", Host=host)
        good = f"Authorization: Bearer {self.server.token}\r\n"
        for head in ("GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     "GET / HTTP/1.1\r\nHost: localhost\r\n evil.example\r\n\r\n", "GET / HTTP/1.1\nHost: localhost\n\r\n\r\n", "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
                     "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n", f"GET /api/experiments HTTP/1.1\r\n{good}\r\n", "\x16\x03\x01\r\n\r\n",
                     f"POST /api/e/0/control HTTP/1.1\r\nHost: localhost\r\n{good}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     f"POST /api/e/0/control HTTP/1.1\r\nHost: localhost\r\n{good}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"):
            answer = self.server.raw(head.encode())
            self.assertRegex(answer, rb"^HTTP/1.1 400 ", head)
        self.assertRegex(self.server.raw(f"POST /api/e/0/control HTTP/1.1\r\nHost: localhost\r\n{good}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode()), rb"^HTTP/1.1 411 ")

    def test_only_get_and_post_are_there_and_nobody_steers_unless_allowed(self) -> None:
        for method in ("OPTIONS", "DELETE", "TRACE", "PUT", "HEAD", "CONNECT"):
            got = self.server.raw(f"{method} /api/experiments HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self.assertRegex(got, rb"^HTTP/1.1 405 ", method)
        self.answers(405, "/api/e/0/report", "POST", "{}", Content_Type="application/json")
        self.answers(405, "/api/e/0/control")
        self.answers(403, "/api/e/0/control", "POST", '{"ask": "stop"}', Content_Type="application/json")
        self.answers(415, "/api/e/0/control", "POST", "ask=stop", Content_Type="application/x-www-form-urlencoded")
        self.answers(415, "/api/e/0/control", "POST", '{"ask": "stop"}', Content_Type="text/plain")
        self.answers(403, "/api/e/0/control", "POST", '{"ask": "stop"}', Content_Type="application/json", Sec_Fetch_Site="cross-site")
        self.answers(403, "/api/e/0/control", "POST", '{"ask": "stop"}', Content_Type="application/json", Origin="http://evil.example")

    def test_no_path_of_a_caller_reaches_a_file(self) -> None:
        for target in ("/api/e/0/trials/../log", "/api/e/0/trials/%2e%2e/log", "/api/e/0/trials/0%00/log", "/../../etc/passwd", "/results/looked_at/spec.json", "/api/e/0/trials/0/log?stream=../../spec"):
            self.answers(400, target)
        for target in ("/api/e/1/report", "/api/e/0/trials/99/log", "/api/e/0/trials/x/log", "/api/e/0x0/report"):
            self.answers(404, target)
        self.answers(400, "/api/e/0/trials/0/log?stream=x")
        # Neither what a link leads to, nor a FIFO, which would be waited for.
        for target in ("/api/e/0/trials/2/log?stream=stderr", "/api/e/0/trials/1/log"):
            self.assertEqual(self.server.json(target)["text"], "", target)

    def test_what_is_too_long_is_refused(self) -> None:
        self.answers(431, "/", X="x" * 9000)
        self.answers(413, "/api/e/0/control", "POST", "x" * 1_000_000, Content_Type="application/json")

    def test_many_connections_and_one_that_never_reads_hold_up_nobody(self) -> None:
        with contextlib.ExitStack() as open_ones:
            for _ in range(60):
                open_ones.enter_context(self.server.connect()).sendall(b"GET / HTTP/1.1\r\n")
            self.assertEqual(self.server.request("/api/experiments")[0], 200)
            never_reads = open_ones.enter_context(self.server.connect())
            never_reads.sendall(f"GET /api/e/0/report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.server.token}\r\n\r\n".encode())
            self.assertEqual(self.server.request("/api/experiments")[0], 200)
            # Beyond the limit they are closed at once, and the server lives.
            with contextlib.suppress(ConnectionError):
                for _ in range(140):
                    open_ones.enter_context(self.server.connect())
        for _ in range(100):
            with contextlib.suppress(IndexError, ConnectionError):
                self.assertEqual(self.server.request("/api/experiments")[0], 200)
                return
        self.fail("it does not answer any more")

    def test_it_listens_on_loopback_alone(self) -> None:
        listening = [line.split()[1] for line in self.read("/proc/net/tcp").splitlines()[1:] if line.split()[1].endswith(f":{self.server.port:04X}") and line.split()[3] == "0A"]
        self.assertEqual(listening, [f"0100007F:{self.server.port:04X}"])


class Followed(Case):
    def start(self, *words: str, **environment: str) -> Server:
        server = Server(self.dir, *words, **environment)
        self.addCleanup(lambda: server.process.poll() is not None or server.close())
        return server

    def spec(self, **fields: Any) -> dict[str, Any]:
        self.write("waiting.py", WAITING)
        return {"trainable": {"command": [sys.executable, self.path("waiting.py"), self.path("go"), "${args}"], "plain": {}}, "name": "live", "metric": "loss", "mode": "min",
                "num_samples": 2, "max_concurrent_trials": 2, "searcher": "random", "param_space": {"x": {"uniform": [0, 1]}}, **fields}

    def run_beside(self, *words: str) -> subprocess.Popen[bytes]:
        driver = subprocess.Popen([TUNE, *words], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        return driver

    def wait_until(self, holds: Any) -> None:
        end = time.monotonic() + LIMIT_S
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def has_results(self, count: int) -> bool:
        done = self.tune("status", "results/live", "--json", expect=None)
        return done.returncode == 0 and json.loads(done.out)["results"] >= count

    def test_a_stream_tells_what_has_changed_through_death_and_resume(self) -> None:
        self.write("spec.json", self.spec())
        driver = self.run_beside("run", "spec.json")
        self.wait_until(lambda: self.has_results(2))
        server = self.start("results/live")
        report = server.report()
        self.assertEqual(report["status"]["states"]["RUNNING"], 2)
        with server.stream(report["status"]["events"]) as events:
            driver.kill()
            driver.wait()
            waits_for(events, "rows", lambda data: not data["status"]["is_driven"])
            resumed = self.run_beside("resume", "results/live")
            waits_for(events, "rows", lambda data: data["status"]["is_driven"])
            self.write("go", "")
            rows: dict[str, dict[str, Any]] = {}
            for kind, data in events:
                if kind != "rows":
                    continue
                self.assertEqual(data["columns"][:2], ["trial_id", "state"])
                for row in data["rows"]:
                    rows[row[0]] = dict(zip(data["columns"], row, strict=True))
                if data["status"]["session_end"] == "finished":
                    break
            resumed.wait(LIMIT_S)
        listed = self.json("ls", "results/live")
        for trial in listed:
            row = rows[trial["trial_id"]]
            for name in ("state", "end", "training_iteration", "best", "attempt", "failures", "ended"):
                self.assertEqual(row[name], trial[name], name)
            self.assertEqual(row["config.x"], trial["config"]["x"])
            self.assertEqual(row["loss"], trial["metrics"]["loss"])
        # What was missed is told from any event on that this server has seen.
        with server.stream(report["status"]["events"]) as events:
            kind, data = next(events)
            self.assertEqual((kind, {row[0] for row in data["rows"]}), ("rows", set(rows)))
        # It goes on by itself where the directory is moved away, and where it comes back.
        end = self.json("status", "results/live")["events"]
        with server.stream(end) as events:
            next(events)
            os.rename(self.path("results/live"), self.path("results/moved"))
            self.assertIn("not there any more", waits_for(events, "gone")["problem"])
            self.assertIn("not there any more", server.json("/api/experiments")["experiments"][0]["problem"])
            os.rename(self.path("results/moved"), self.path("results/live"))
            waits_for(events, "reset")
        self.assertEqual(server.report()["problem"], "")
        # Another one in its place is another one.
        with server.stream(end) as events:
            next(events)
            shutil.rmtree(self.path("results/live"))
            self.tune("run", "spec.json")
            waits_for(events, "reset")
        self.assertEqual(server.report()["status"]["sessions"], 1)

    def test_it_steers_what_the_command_line_steers_and_no_more(self) -> None:
        self.write("spec.json", self.spec())
        driver = self.run_beside("run", "spec.json")
        self.wait_until(lambda: self.has_results(2))
        server = self.start("results", "--allow-control")

        def ask(**wish: Any) -> tuple[int, dict[str, str]]:
            status, _, body = server.request("/api/e/0/control", "POST", json.dumps(wish), Content_Type="application/json", Sec_Fetch_Site="same-origin")
            return status, json.loads(body)

        self.assertEqual(ask(ask="set", fields={"num_samples": 9})[0], 400)
        self.assertEqual(ask(ask="waits")[0], 400)
        self.assertEqual(ask(ask="stop", trial="../0")[0], 400)
        self.assertEqual(ask(ask="stop", trial="trial_00099")[0], 409)
        self.assertEqual(ask(ask="add", config={"y": 1})[0], 409)
        status, answer = ask(ask="add", config={"x": 0.25})
        self.assertEqual((status, list(answer)), (200, ["message"]))
        self.assertIn("trial_00002", answer["message"])
        self.assertEqual(ask(ask="stop", trial="trial_00000")[0], 200)
        self.write("go", "")
        driver.wait(LIMIT_S)
        trials = self.json("ls", "results/live")
        self.assertEqual([trials[0]["ended_by"], trials[2]["config"]["x"]], ["user", 0.25])
        self.assertEqual(ask(ask="stop"), (409, {"error": "no driver runs the experiment"}))

    def test_new_experiments_of_a_folder_come_into_the_list(self) -> None:
        self.write("go", "")
        for name in ("a", "b"):
            self.write(f"{name}.json", self.spec(name=name, num_samples=1))
        self.tune("run", "a.json")
        server = self.start("results")
        self.assertEqual([each["name"] for each in server.json("/api/experiments")["experiments"]], ["a"])
        self.tune("run", "b.json")
        self.assertEqual([each["name"] for each in server.json("/api/experiments")["experiments"]], ["a", "b"])
        self.assertEqual(server.report(1)["status"]["name"], "b")
        shutil.rmtree(self.path("results/a"))
        self.assertIn("not there any more", server.report(0)["problem"])

    def test_it_ends_in_good_order_and_its_token_is_nowhere_else(self) -> None:
        self.write("go", "")
        self.write("spec.json", self.spec())
        self.tune("run", "spec.json")
        server = self.start("results/live", SSH_CONNECTION="1.2.3.4 5 6.7.8.9 22")
        server.request("/api/e/0/report")
        words = self.read(f"/proc/{server.process.pid}/cmdline") + self.read(f"/proc/{server.process.pid}/environ")
        code, out, err = server.close()
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"ssh -L {server.port}:127.0.0.1:{server.port} ", out)
        self.assertEqual(out.count(server.token), 1)
        self.assertNotIn(server.token, words)
        for folder, _, files in os.walk(self.dir):
            for file in files:
                with open(os.path.join(folder, file), "rb") as content:
                    self.assertNotIn(server.token.encode(), content.read())

    def test_what_cannot_be_is_one_sentence(self) -> None:
        self.assertIn("there is no experiment in", self.refused("dashboard", "nowhere"))
        self.write("go", "")
        self.write("spec.json", self.spec())
        self.tune("run", "spec.json")
        self.assertIn("--bind takes an address", self.refused("dashboard", "results", "--bind", "nowhere.example"))
        server = self.start("results")
        self.assertIn(f"cannot listen on 127.0.0.1 at port {server.port}", self.refused("dashboard", "results", "--port", str(server.port)))

    def test_a_run_has_one_beside_it_until_it_ends(self) -> None:
        self.write("spec.json", self.spec())
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--dashboard", "--json"], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        assert driver.stdout is not None and driver.stderr is not None
        address = re.search(r"http://127.0.0.1:(\d+)/#token=([0-9a-f]{64})\n", driver.stderr.readline())
        assert address
        server = Server.__new__(Server)
        server.port, server.token = int(address[1]), address[2]
        self.wait_until(lambda: self.has_results(2))
        report = server.report()
        self.assertEqual(report["status"]["results"], 2)
        with server.stream(report["status"]["events"]) as events:
            self.write("go", "")
            waits_for(events, "rows", lambda data: data["status"]["session_end"] == "finished")
        out, _ = driver.communicate(timeout=LIMIT_S)
        self.assertEqual((driver.returncode, json.loads(out)["end"]), (0, "finished"))

        def is_gone() -> bool:
            try:
                server.connect().close()
                return False
            except ConnectionRefusedError:
                return True
        self.wait_until(is_gone)

    def test_outside_loopback_it_warns(self) -> None:
        self.write("go", "")
        self.write("spec.json", self.spec())
        self.tune("run", "spec.json")
        server = self.start("results", "--bind", "0.0.0.0", "--host", "node7")
        self.assertEqual(server.request("/", Host="node7:80")[0], 200)
        self.assertEqual(server.request("/", Host="0.0.0.0:80")[0], 403)
        self.assertIn("no TLS", server.close()[2])


if __name__ == "__main__":
    main()
