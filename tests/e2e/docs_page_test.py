"""The runner of the documentation's examples finds what does not hold, and takes what does."""

import os
import pathlib
import tempfile
import unittest

from docs_page import Page, is_printed

TOOLS = pathlib.Path(os.environ["BIN"])


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory(prefix="tune-docs-")
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def page(self, *lines: str) -> Page:
        file = self.dir / "page.md"
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        there = self.dir / "there"
        there.mkdir(exist_ok=True)
        page = Page(file, there, TOOLS)
        page.run()
        return page

    def console(self, *lines: str, about: str = "") -> Page:
        return self.page(*([about] if about else []), "```console", *lines, "```")

    def assert_wrong(self, page: Page, text: str) -> None:
        self.assertEqual(len(page.wrong), 1, page.wrong)
        self.assertIn(text, page.wrong[0])

    def test_output_that_is_printed_holds_and_any_other_is_named_with_its_line(self) -> None:
        self.assertEqual(self.console("$ echo a; echo b", "a", "b").wrong, [])
        self.assert_wrong(
            self.console("$ echo a; echo b", "a", "c"), "page.md:2: `echo a; echo b` prints"
        )
        self.assert_wrong(self.console("$ echo a; echo b", "a"), "prints")
        self.assert_wrong(self.console("$ true", "a"), "prints")

    def test_each_command_of_a_block_has_its_own_output(self) -> None:
        self.assertEqual(
            self.console("$ echo a", "a", "$ echo b \\", "    c", "b c", "$ true").wrong, []
        )
        self.assert_wrong(self.console("$ echo a", "$ echo b", "b"), "`echo a` prints")

    def test_dots_stand_for_lines_and_bracketed_dots_for_a_part_of_one(self) -> None:
        self.assertTrue(is_printed(["a", "...", "d"], ["a", "b", "c", "d"], False))
        self.assertTrue(is_printed(["a", "..."], ["a"], False))
        self.assertFalse(is_printed(["...", "d"], ["d", "e"], False))
        self.assertTrue(is_printed(["took [..] s"], ["took 3 s"], False))
        self.assertFalse(is_printed(["took [..] s"], ["took 3", "4 s"], False))

    def test_numbers_vary_only_where_it_says_so_and_words_never_do(self) -> None:
        self.assertEqual(
            self.console("$ echo took 3.5 s", "took 12 s", about="<!-- numbers vary -->").wrong, []
        )
        self.assert_wrong(self.console("$ echo took 3.5 s", "took 12 s"), "prints")
        self.assertTrue(is_printed(["2 trials,  3 s"], ["1 trial, 12 s"], True))
        self.assertFalse(is_printed(["2 trials"], ["2 trails"], True))
        self.assert_wrong(
            self.console("$ echo took 3 s", "took 3 m", about="<!-- numbers vary -->"), "prints"
        )

    def test_an_exit_code_that_is_not_announced_is_a_failure(self) -> None:
        self.assert_wrong(self.console("$ false"), "exit code 1 in place of 0")
        self.assertEqual(self.console("$ exit 2", about="<!-- exit code: 2 -->").wrong, [])
        self.assert_wrong(
            self.console("$ true", about="<!-- exit code: 2 -->"), "exit code 0 in place of 2"
        )
        self.assert_wrong(self.page("```sh", "false", "true", "```"), "exit code 1")

    def test_files_and_hidden_commands_are_there_for_what_comes_after_them(self) -> None:
        page = self.page(
            "<!-- file: a/b.sh -->",
            "```sh",
            "#!/bin/sh",
            "echo b",
            "```",
            "",
            "<!-- run:",
            "echo c > c",
            "-->",
            "```console",
            "$ a/b.sh; cat c",
            "b",
            "c",
            "```",
        )
        self.assertEqual(page.wrong, [])
        self.assert_wrong(self.page("<!-- run: false -->"), "exit code 1")

    def test_the_directory_of_the_page_has_the_name_that_readers_see(self) -> None:
        self.assertEqual(self.console("$ pwd", "/home/ada").wrong, [])

    def test_the_only_way_out_needs_a_reason(self) -> None:
        self.assertEqual(self.console("$ false", about="<!-- not run: it fails -->").wrong, [])
        self.assert_wrong(self.console("$ false", about="<!-- not run -->"), "no reason")

    def test_a_block_without_a_language_that_is_known_is_a_failure(self) -> None:
        self.assert_wrong(self.page("```", "a", "```"), "no language")
        self.assert_wrong(self.page("```ruby", "a", "```"), "no language")
        self.assert_wrong(self.page("  ```json", "  {}"), "indented")
        self.assert_wrong(self.page("```text", "$ ls", "```"), "make it `console`")
        self.assert_wrong(self.page("```console", "ls", "```"), "does not begin with a command")

    def test_a_comment_that_is_unknown_or_has_no_block_is_a_failure(self) -> None:
        self.assert_wrong(self.page("<!-- not ran: why -->"), "unknown comment 'not ran'")
        self.assert_wrong(self.page("<!-- exit code: 2 -->", "", "Text."), "no block follows")

    def test_specs_and_parts_of_specs_must_be_valid(self) -> None:
        whole = (
            '{"trainable": {"command": ["true"]}, "metric": "loss", "mode": "min", '
            '"param_space": {"a": {"uniform": [0, 1]}}}'
        )
        self.assertEqual(self.page("```json", whole, "```").wrong, [])
        self.assertEqual(
            self.page("```json", '"num_samples": 3, // three', '"scheduler": "asha"', "```").wrong,
            [],
        )
        self.assertEqual(
            self.page(
                "<!-- field: stop -->",
                "```json",
                '{"accuracy": 0.9}',
                "```",
                "```json",
                '{"stop": {"metric": "loss", "<=": 0.1}}',
                "```",
            ).wrong,
            [],
        )
        self.assert_wrong(self.page("```json", '{"num_samples": 0}', "```"), "num_samples must be")
        self.assert_wrong(self.page("```json", '{"lr": 3}', "```"), "no spec has lr")
        self.assert_wrong(self.page("```json", "{,}", "```"), "no JSON")
        self.assert_wrong(self.page("```jsonl", "{}", "{", "```"), "no JSON")

    def test_code_must_be_a_part_of_what_is_built(self) -> None:
        self.assertEqual(
            self.page(
                "```cpp",
                "int main(int, char** argv) {",
                '  tune::TuneConfig config{.name = "outside", .storage_path = argv[1]};',
                "```",
            ).wrong,
            [],
        )
        self.assert_wrong(
            self.page("```cpp", "int main(int, char** argv) {", "return 0;", "```"),
            "no part of a file that is built",
        )

    def test_a_diff_is_the_whole_of_one_that_is_applied(self) -> None:
        lines = ["-from ray import tune", "-from ray.tune.schedulers import ASHAScheduler"]
        lines += ["+import tune", "+from tune.schedulers import ASHAScheduler"]
        self.assertEqual(self.page("```diff", *lines, "```").wrong, [])
        self.assert_wrong(self.page("```diff", *lines[:3], "```"), "none of tests/e2e/ported")

    def test_python_runs_and_where_it_is_a_file_it_is_read(self) -> None:
        self.assertEqual(self.page("```python", "import json", "json.loads('{}')", "```").wrong, [])
        self.assert_wrong(self.page("```python", "import no_such_module", "```"), "no_such_module")
        with self.assertRaises(SyntaxError):
            self.page("<!-- file: a.py -->", "```python", "def", "```")

    def test_links_lead_to_files_and_headings_that_are_there(self) -> None:
        self.assertEqual(
            self.page(
                "# Some `code` here",
                "[a](#some-code-here) [b](page.md#some-code-here)",
                "[c](https://example.org/x) [`d`](page.md)",
            ).wrong,
            [],
        )
        self.assert_wrong(self.page("[a](other.md)"), "there is no other.md")
        self.assert_wrong(self.page("# Here", "[a](#there)"), "no heading #there")

    def test_a_rewritten_page_holds_and_keeps_its_gaps(self) -> None:
        texts = "```console|$ echo 1|2|3|$ seq 5|9|...|5|```||```console|$ echo x|y|```"
        page = self.page(*texts.split("|"))
        self.assertEqual(len(page.wrong), 3)
        self.assertEqual(
            "|".join(page.lines),
            "```console|$ echo 1|1|$ seq 5|1|...|5|```||```console|$ echo x|x|```",
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
