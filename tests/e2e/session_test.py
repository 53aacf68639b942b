"""Every command of the session in docs/cli.md does what the page shows.

With UPDATE=1 in the environment the page is written anew with what the commands print."""
import os
import re
import shutil
import subprocess

from cli_support import LIMIT_S, TUNE, Case, main

PAGE = os.environ["CLI_PAGE"]
HOME = "/home/ada"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


def session_of(page):
    begin = page.index("## A session")
    return begin, page.index("\n## ", begin + 1)


def shape(line):
    """What stays the same from run to run: words, not numbers, and no widths of columns."""
    line = re.sub(r"\b[0-9a-f]{8}\b", "#", line)  # a checksum, which each build has its own of
    return re.sub(r"\s+", " ", re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "#", line)).strip()


class Session(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(os.environ["DIGITS"], self.path("digits"))

    def run_block(self, text):
        """The command, which may go over several lines, and all that it prints."""
        lines = text.splitlines()
        command = [lines[0][2:]]
        while command[-1].endswith("\\"):
            command.append(lines[len(command)])
        done = subprocess.run(["bash", "-c", "\n".join(command)], cwd=self.dir, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "PATH": os.path.dirname(TUNE) + ":" + os.environ["PATH"]})
        printed = done.stdout.decode().replace(self.dir, HOME).splitlines()
        return lines[:len(command)], lines[len(command):], [line.rstrip() for line in printed]

    def test_the_page_shows_what_happens(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        begin, end = session_of(page)
        commands = 0
        written = page[:begin]
        at = begin
        for block in BLOCK.finditer(page, begin, end):
            written += page[at:block.start()]
            at = block.end()
            text = block[2]
            if block[1] == "json":
                self.write("digits.json", text)
            elif text.startswith("$ "):
                commands += 1
                command, shown, printed = self.run_block(text)
                text = "\n".join(command + self.compared(command, shown, printed)) + "\n"
            written += f"```{block[1]}\n{text}```"
        self.assertGreaterEqual(commands, 10)
        if os.environ.get("UPDATE"):
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(written + page[at:])

    def compared(self, command, shown, printed):
        """`printed` with as much left out as the page leaves out."""
        if os.environ.get("UPDATE"):
            if "..." not in shown:
                return printed
            gap = shown.index("...")
            return printed[:gap] + ["..."] + printed[len(printed) - (len(shown) - gap - 1):]
        shapes = {shape(line) for line in printed}
        for line in shown:
            if line != "...":
                with self.subTest(command=command, line=line):
                    self.assertIn(shape(line), shapes)
        return shown


main()
