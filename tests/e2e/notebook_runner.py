"""Runs the cells that it reads as JSON in a real kernel, and writes what came of them.

In:  {"cells": [code ...], "when": {"matches": regular expression, "do": what, "again": whether more than once}}
Out: {"cells": [[output ...] ...], "shown": [text/plain of a display or its update ...], "kernel": its process}

It is done when what the first cell displays matches, as a front end would: "interrupt" is its stop button, "restart" what it
does before it starts a new kernel. "signal" goes to the kernel's process alone, "kill" ends its whole group, "go" makes the
file of that name.
"""
import asyncio
import json
import os
import re
import signal
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

LIMIT_S = 240


class Runner(NotebookClient):
    shown = ()
    when = None
    pid = 0
    doing = None

    def process_message(self, msg, cell, cell_index):
        self.pid = self.km.provisioner.pid or self.pid
        if msg["msg_type"] in ("display_data", "update_display_data"):
            text = msg["content"]["data"]["text/plain"]
            is_new = text not in self.shown
            self.shown = (*self.shown, text)
            if self.when and cell_index == 0 and is_new and re.search(self.when["matches"], text, re.DOTALL):
                self.act(self.when["do"])
                if not self.when.get("again"):
                    self.when = None
        return super().process_message(msg, cell, cell_index)

    def act(self, what):
        if what == "interrupt":
            self.doing = asyncio.ensure_future(self.km.interrupt_kernel())
        elif what == "restart":
            self.doing = asyncio.ensure_future(self.km.shutdown_kernel(restart=True))
        elif what == "signal":
            os.kill(self.pid, signal.SIGINT)
        elif what == "kill":
            os.killpg(self.pid, signal.SIGKILL)
        elif what == "go":
            open("go", "w", encoding="ascii").close()


def main():
    asked = json.load(sys.stdin)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in asked["cells"]])
    runner = Runner(notebook, timeout=LIMIT_S, allow_errors=True, kernel_name="python3")
    runner.when = asked.get("when")
    try:
        runner.execute()
    except DeadKernelError:
        pass
    json.dump({"cells": [cell.outputs for cell in notebook.cells], "shown": runner.shown, "kernel": runner.pid}, sys.stdout)


if __name__ == "__main__":
    main()
