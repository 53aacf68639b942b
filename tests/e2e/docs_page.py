"""Runs what a page of the documentation shows, and says what does not hold.

    docs_page.py PAGE [--rewrite]

A page has a directory of its own, empty at first, and its blocks run there from top to bottom. What
a block is, its language says; one without a language is a failure.

    console     `$ ` begins a command, which goes on after a `\\` at the end of a line; then comes
                what it prints. A line `...` stands for any lines, `[..]` for anything in a line
    sh, python  a script; with a name it is a file that a command uses
    json        a spec, or some fields of one on top of the last whole spec of the page:
                `tune validate` must find it valid
    jsonl       a JSON value a line
    cpp, cmake  equal to a part of a file that is built (EXAMPLES); C++ with a name is a file that
                a command compiles
    diff        the whole of a file of lines that change (DIFFS)
    csv, text   nothing to run: a file, a drawing

What readers need not see stands in comments, those about a block in front of it:

    <!-- file: NAME -->          the block is written to NAME
    <!-- field: NAME -->         a json block is the value of that field of a spec
    <!-- numbers vary -->        any number in the output is as good as another, and so is its plural
    <!-- exit code: 2 -->        that of the last command; otherwise 0
    <!-- not run: REASON -->     the only way out
    <!-- run: COMMANDS -->       commands on their own; BIN has the programs, SOURCE is the project

Links to files of the project and to their headings must lead somewhere, on every page. With
--rewrite, output that does not hold is replaced by what was printed.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = "/home/ada"  # what pages show in place of their directory
LIMIT_S = 240
EXAMPLES = ["tests/e2e/docs/*.cpp", "tests/e2e/outside_project/*", "apps/examples/*/*.cpp"]
DIFFS = "tests/e2e/ported/*.diff"
#: What a spec that is shown in part lacks, on a page that has no whole one before it.
SPEC: dict[str, Any] = {
    "trainable": {"command": ["true"]},
    "param_space": {"lr": {"uniform": [0, 1]}},
    "metric": "loss",
    "mode": "min",
}
LANGUAGES = {"console", "sh", "python", "json", "jsonl", "cpp", "cmake", "diff", "csv", "text"}
COMMENTS = {"file", "field", "numbers vary", "exit code", "not run", "run", "example"}
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
FENCE = re.compile(r"```(\w*)$")
LINK = re.compile(r"\]\(([^()\s]+)\)")


@dataclasses.dataclass
class Comment:
    line: int
    name: str
    value: str


@dataclasses.dataclass
class Block:
    """Fenced lines; `line` is the number of the first of them, from 0."""

    line: int
    language: str
    lines: list[str]

    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)


@dataclasses.dataclass
class Command:
    """One command of a console block; `begin` and `end` are the lines of its output there."""

    text: str
    begin: int
    end: int


class Wrong(Exception):
    """What does not hold, as a sentence."""


def parts(lines: list[str]) -> Iterator[Comment | Block | tuple[int, str]]:
    """The page in its order: comments, blocks, and lines of text with their numbers."""
    at = 0
    while at < len(lines):
        line, begin = lines[at], at
        at += 1
        if line.startswith("<!--"):
            text = line
            while "-->" not in text and at < len(lines):
                text += "\n" + lines[at]
                at += 1
            name, _, value = text[4 : text.rindex("-->")].partition(":")
            yield Comment(begin, name.strip(), value.strip())
        elif fence := FENCE.match(line):
            while at < len(lines) and lines[at] != "```":
                at += 1
            yield Block(begin + 1, fence[1], lines[begin + 1 : at])
            at += 1
        else:
            yield begin, line


def commands_of(lines: list[str]) -> list[Command]:
    found: list[Command] = []
    at = 0
    while at < len(lines):
        begin = at
        at += 1
        if not lines[begin].startswith("$ "):
            continue
        while lines[at - 1].endswith("\\") and at < len(lines):
            at += 1
        if found:
            found[-1].end = begin
        found.append(Command("\n".join(lines[begin:at])[2:], at, len(lines)))
    return found


def is_printed(shown: list[str], printed: list[str], numbers_vary: bool) -> bool:
    def plain(line: str) -> str:
        if not numbers_vary:
            return line.rstrip()
        without_widths = re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()
        return re.sub(r"(# \w+)s\b", r"\1", without_widths)  # 1 trial, 2 trials

    pattern = ""
    for line in shown:
        if line == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(plain(line)).replace(r"\[\.\.\]", ".*") + r"\n"
    return re.fullmatch(pattern, "".join(plain(line) + "\n" for line in printed)) is not None


def with_gap(shown: list[str], printed: list[str]) -> list[str]:
    """`printed`, with as much left out as is left out in `shown`."""
    if shown.count("...") != 1:
        return printed
    head = shown.index("...")
    tail = len(shown) - head - 1
    return printed[:head] + ["..."] + printed[len(printed) - tail :]


def without_comments(text: str) -> str:
    return re.sub(
        r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/',
        lambda found: found[1] or "",
        text,
        flags=re.DOTALL,
    )


def anchors(page: pathlib.Path) -> set[str]:
    """The names of its headings, as GitHub makes them."""
    found: set[str] = set()
    for part in parts(page.read_text(encoding="utf-8").splitlines()):
        if isinstance(part, tuple) and re.match("#+ ", part[1]):
            heading = re.sub(r"\]\([^)]*\)", "]", part[1].lstrip("#").strip().lower())
            name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
            while name in found:
                name += "-1"
            found.add(name)
    return found


class Page:
    """One page: `run` runs it, `wrong` says what did not hold, `lines` have what was printed."""

    def __init__(
        self,
        path: pathlib.Path,
        directory: pathlib.Path,
        tools: pathlib.Path,
        examples: list[str] | None = None,
    ) -> None:
        self.path, self.directory, self.tools = path, directory.resolve(), tools
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.wrong: list[str] = []
        self.counts: dict[str, int] = {}
        self.spec = SPEC
        self.examples = EXAMPLES if examples is None else examples
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TUNE_")},
            "PATH": f"{tools}:{os.environ['PATH']}",
            "BIN": str(tools),
            "SOURCE": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(self.directory.parent),
        }

    def run(self) -> None:
        about: dict[str, str] = {}
        inserted = 0
        for part in list(parts(self.lines)):
            line = part[0] if isinstance(part, tuple) else part.line
            try:
                if isinstance(part, Comment):
                    self.take_comment(part, about)
                elif isinstance(part, Block):
                    mine, about = about, {}
                    part.line += inserted
                    before = len(self.lines)
                    self.run_block(part, mine)
                    inserted += len(self.lines) - before
                else:
                    self.check_text(part[1])
                    if about and part[1].strip():
                        unused = ", ".join(sorted(about))
                        about = {}
                        raise Wrong(f"no block follows on the comment: {unused}")
            except Wrong as wrong:
                self.wrong.append(f"{self.path.name}:{line + 1}: {wrong}")

    def take_comment(self, comment: Comment, about: dict[str, str]) -> None:
        if comment.name not in COMMENTS:
            raise Wrong(f"unknown comment '{comment.name}'")
        if comment.name == "run":
            self.shell("set -e\n" + comment.value)
        else:
            about[comment.name] = comment.value

    def run_block(self, block: Block, about: dict[str, str]) -> None:
        if block.language not in LANGUAGES:
            raise Wrong(f"the block has no language that is known, but '{block.language}'")
        if "not run" in about:
            if not about["not run"]:
                raise Wrong("no reason is given why it is not run")
            return
        self.counts[block.language] = self.counts.get(block.language, 0) + 1
        if "file" in about:
            file = self.directory / about["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text(), encoding="utf-8")
            if block.lines and block.lines[0].startswith("#!"):
                file.chmod(0o755)
        if block.language == "console":
            self.run_console(block, about)
        elif block.language == "json":
            self.check_spec(block, about.get("field"))
        elif block.language == "jsonl":
            for line in block.lines:
                self.parse(line)
        elif block.language in ("cpp", "cmake") and "file" not in about:
            self.check_is_built(block)
        elif block.language == "diff":
            if not any(file.read_text() == block.text() for file in ROOT.glob(DIFFS)):
                raise Wrong(f"this is none of {DIFFS}")
        elif block.language == "python" and "file" in about:
            ast.parse(block.text())
        elif block.language == "python":
            self.shell(f"{sys.executable} - <<'END'\n{block.text()}END")
        elif block.language == "sh" and "file" not in about:
            self.shell("set -e\n" + block.text())
        elif any(line.startswith("$ ") for line in block.lines):
            raise Wrong("a command stands in a block that is not run: make it `console`")

    def shell(self, script: str, expect: int = 0) -> list[str]:
        """The lines that it prints."""
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            env=self.environment,
        )
        printed = done.stdout.decode().replace(str(self.directory), HOME)
        if done.returncode != expect:
            raise Wrong(f"exit code {done.returncode} in place of {expect} of: {script}\n{printed}")
        return [line.rstrip() for line in printed.splitlines()]

    def run_console(self, block: Block, about: dict[str, str]) -> None:
        commands = commands_of(block.lines)
        if not commands or not block.lines[0].startswith("$ "):
            raise Wrong("the block does not begin with a command: `$ ...`")
        offset = 0
        for command in commands:
            expect = int(about.get("exit code", 0)) if command is commands[-1] else 0
            shown = block.lines[command.begin : command.end]
            printed = self.shell(command.text, expect)
            if is_printed(shown, printed, "numbers vary" in about):
                continue
            self.wrong.append(
                f"{self.path.name}:{block.line + command.begin}: `{command.text}` prints\n"
                + "".join(f"    {line}\n" for line in printed)
                + "  and the page shows\n"
                + "".join(f"    {line}\n" for line in shown)
            )
            printed = with_gap(shown, printed)
            begin = block.line + command.begin + offset
            self.lines[begin : begin + len(shown)] = printed
            offset += len(printed) - len(shown)

    @staticmethod
    def parse(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise Wrong(f"no JSON: {error}") from error

    def check_spec(self, block: Block, field: str | None) -> None:
        text = without_comments(block.text()).strip()
        fields = self.parse(text if text[:1] in "{[" else "{" + text + "}")
        if field:
            fields = {field: fields}
        known = self.parse((ROOT / "docs/experiment.schema.json").read_text(encoding="utf-8"))[
            "properties"
        ]
        unknown = sorted(set(fields) - set(known))
        if unknown:
            raise Wrong(f"no spec has {', '.join(unknown)}: say of which field this is the value")
        spec = {**self.spec, **fields}
        if "trainable" in fields:
            self.spec = spec = fields
        file = self.directory / "_shown.json"
        file.write_text(json.dumps(spec), encoding="utf-8")
        printed = self.shell("tune validate _shown.json || true")
        file.unlink()
        if printed != ["valid"]:
            raise Wrong("tune validate says:\n" + "\n".join(printed))

    def check_is_built(self, block: Block) -> None:
        shown = "\n".join(line.strip() for line in block.lines if line.strip())
        for pattern in self.examples:
            for file in sorted(ROOT.glob(pattern)):
                text = file.read_text(encoding="utf-8").splitlines()
                if shown + "\n" in "\n".join(line.strip() for line in text if line.strip()) + "\n":
                    return
        raise Wrong(f"this is no part of a file that is built: {', '.join(self.examples)}")

    def check_text(self, line: str) -> None:
        if line.lstrip().startswith("```"):
            raise Wrong("a block is indented, or its fence says more than a language")
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = self.path.parent / name if name else self.path
            if not file.exists():
                raise Wrong(f"there is no {name}")
            if anchor and anchor not in anchors(file):
                raise Wrong(f"{file.name} has no heading #{anchor}")
            self.counts["link"] = self.counts.get("link", 0) + 1


def main() -> int:
    path, rewrite = (
        pathlib.Path(sys.argv[1]).resolve(),
        "--rewrite" in sys.argv[2:] or "REWRITE" in os.environ,
    )
    with tempfile.TemporaryDirectory(prefix="tune-docs-") as scratch:
        directory = pathlib.Path(scratch, "here")
        directory.mkdir()
        page = Page(path, directory, pathlib.Path(os.environ["BIN"]))
        page.run()
    if rewrite:
        path.write_text("".join(line + "\n" for line in page.lines), encoding="utf-8")
    for wrong in page.wrong:
        print(wrong)
    print(
        f"{path.name}: "
        + ", ".join(f"{count} {name}" for name, count in sorted(page.counts.items()))
    )
    return 1 if page.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
