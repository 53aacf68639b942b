"""Drives Debian's chromium through a pipe, without any library."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Nothing here takes longer.
LIMIT_S = 60


class Browser:
    """One page. Everything that it says on its console is kept."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self.profile = tempfile.TemporaryDirectory(prefix="tune-browser-")
        theirs_in, self.commands = os.pipe()
        answers, theirs_out = os.pipe()
        # It reads commands from descriptor 3 and writes answers to 4; neither may be what it is dup'ed from.
        words = ["/bin/sh", "-c", f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"', "sh",
                 PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                 f"--user-data-dir={self.profile.name}", "--window-size=1300,900", "about:blank"]
        self.process = subprocess.Popen(words, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.answers = os.fdopen(answers, "rb")
        self.asked = 0
        self.session: str | None = None
        self.said: list[dict[str, Any]] = []
        [page] = [each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        os.close(self.commands)
        self.process.wait(LIMIT_S)
        self.answers.close()
        self.profile.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.asked += 1
        command = {"id": self.asked, "method": method, "params": parameters}
        if self.session is not None:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.asked:
                assert "error" not in message, message
                return message["result"]
            if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                self.said.append(message)

    def read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            assert byte, "the browser has gone"
            text += byte
        return json.loads(text)

    def value(self, expression: str) -> Any:
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until it is true; looks again with each frame."""
        found = self.value(f"""new Promise((done) => {{
            const end = performance.now() + {1000 * LIMIT_S};
            const look = () => ({expression}) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 20);
            look();
        }})""")
        assert found, f"never came: {expression}"

    def open(self, file: str, fragment: str = "") -> None:
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=f"file://{file}{fragment}")
        self.wait("document.readyState === 'complete' && document.querySelector('main') !== null")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)
