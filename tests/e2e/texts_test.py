"""What the program says of itself: manual pages, completion, what it was built from."""
import os
import re
import shutil
import subprocess

from cli_support import Case, TUNE, commands_in, main

COMPLETION = os.environ["COMPLETION"]


class Texts(Case):
    def setUp(self) -> None:
        super().setUp()
        self.commands = commands_in(self.tune("--help").out)
        self.assertIn("resume", self.commands)

    def completed(self, *words: str) -> list[str]:
        return self.tune("complete", "--", *words).out.splitlines()

    def experiment(self) -> None:
        self.write("spec.json", self.quadratic(name="mine", storage_path="results"))
        self.tune("run", "spec.json", "--progress", "none")

    def test_each_command_has_a_manual_page_with_all_of_its_options(self) -> None:
        self.tune("generate", "--man", "man")
        pages = {f"tune-{name}.1" for name in self.commands} | {"tune.1"}
        self.assertEqual(set(os.listdir(self.path("man"))), pages)
        overview = self.read("man", "tune.1").replace("\\-", "-")
        for name in self.commands:
            page = self.read("man", f"tune-{name}.1").replace("\\-", "-")
            for option in re.findall(r"^ +.*?(--[a-z-]+)", self.tune(name, "--help").out.split("Examples:")[0], re.M):
                self.assertIn(f"\\fB{option}\\fR", page, name)
            self.assertIn(f"tune {name}", overview)

    def test_manual_pages_are_the_same_each_time(self) -> None:
        self.tune("generate", "--man", "one")
        self.tune("generate", "--man", "two")
        for name in os.listdir(self.path("one")):
            self.assertEqual(self.read("one", name), self.read("two", name))

    def test_troff_has_nothing_to_warn_of_in_a_manual_page(self) -> None:
        if shutil.which("man") is None or shutil.which("groff") is None:
            self.skipTest("man or groff is not installed")
        self.tune("generate", "--man", "man")
        for name in sorted(os.listdir(self.path("man"))):
            done = subprocess.run(["man", "--warnings", "-l", self.path("man", name)], check=True,
                                  capture_output=True, text=True,
                                  env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            self.assertEqual(done.stderr, "", name)
            self.assertIn("SYNOPSIS", done.stdout)

    def test_a_manual_page_shows_an_example_as_it_is_typed(self) -> None:
        self.tune("generate", "--man", "man")
        page = self.read("man", "tune-ls.1")
        self.assertIn("""\\-\\-filter \\(aqaccuracy > 0.9 && optimizer == "adam"\\(aq""", page)

    def test_commands_and_options_complete_and_hidden_commands_do_not(self) -> None:
        self.assertEqual(self.completed(""), sorted(self.commands))
        self.assertEqual(self.completed("res"), ["resume"])
        self.assertEqual(self.completed("resume", "--num-s"), ["--num-samples"])
        self.assertEqual(self.completed("run", "--progress", ""), ["auto", "lines", "none", "table"])
        self.assertEqual(self.completed("run", "--progress", "=", "t"), ["table"])
        self.assertEqual(self.completed("best", "x", "--mode", "m"), ["max", "min"])
        self.assertEqual(self.completed("run", "--mode", ""), ["max", "min"])

    def test_names_of_policies_complete_and_placeholders_are_no_values(self) -> None:
        self.assertEqual(self.completed("run", "--scheduler", "pb"), ["pb2", "pbt", "pbt_replay"])
        self.assertLessEqual({"auto", "random", "tpe"}, set(self.completed("run", "--searcher", "")))
        self.assertIn("csv", self.completed("resume", "x", "--callback", ""))
        self.assertEqual(self.completed("schema", "chec"), ["check", "checkpoint", "checkpoints"])
        for command in self.commands:
            for option in self.completed(command, "--"):
                for word in self.completed(command, option, ""):
                    self.assertRegex(word, r"^(--)?[a-z]", (command, option))

    def test_experiments_and_trials_complete(self) -> None:
        self.experiment()
        self.assertEqual(self.completed("ls", "res"), ["results/"])
        self.assertEqual(self.completed("ls", "results/"), ["results/mine"])
        self.assertEqual(self.completed("show", "results/mine", "t"),
                         [f"trial_0000{i}" for i in range(4)])
        self.assertEqual(self.completed("show", "results/mine", "3"), ["3"])
        self.assertEqual(self.completed("stop", "results/mine", "--trial", "0"), ["0"])
        self.assertEqual(self.completed("stop", "results/mine", "0"), ["0"])

    def test_a_trial_is_named_by_the_next_word_or_by_an_option(self) -> None:
        self.experiment()
        for command in ["show", "logs", "checkpoints"]:
            by_word = self.tune(command, "results/mine", "3").out
            self.assertEqual(self.tune(command, "results/mine", "--trial", "3").out, by_word)
            self.assertEqual(self.tune(command, "--trial", "3", "results/mine").out, by_word)
            self.tune(command, "results/mine", "3", "--trial", "3", expect=2)
        for command in ["stop", "pause", "unpause", "checkpoint"]:
            self.assertIn("no driver runs", self.tune(command, "results/mine", "3", expect=2).err)
        self.assertIn("TRIAL is required", self.tune("unpause", "results/mine", expect=2).err)

    def test_files_and_what_follows_two_dashes_are_left_to_the_shell(self) -> None:
        self.assertEqual(self.completed("run", ""), [])
        self.assertEqual(self.completed("run", "--", "python3", "--nu"), [])
        self.assertEqual(self.completed("show", "nowhere", "t"), [])
        self.assertEqual(self.completed(), sorted(self.commands))

    def test_bash_completes_with_the_installed_script(self) -> None:
        self.experiment()
        script = os.path.join(COMPLETION, "tune.bash")
        subprocess.run(["bash", "-n", script], check=True)
        ask = (f". {script}; COMP_WORDS=(tune show results/mine trial_00003); COMP_CWORD=3; "
               f"_tune {TUNE} trial_00003 results/mine; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "--norc", "-c", ask], cwd=self.dir, check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, "trial_00003\n", done.stderr)

    def test_zsh_reads_the_installed_script(self) -> None:
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        subprocess.run(["zsh", "-n", os.path.join(COMPLETION, "_tune")], check=True)

    def test_the_version_as_json_names_commit_compiler_and_libraries(self) -> None:
        said = self.json("--version")
        self.assertEqual(self.tune("--version").out, f"tune {said['version']}\n")
        self.assertEqual(said["name"], "tune")
        self.assertRegex(said["commit"] or "0" * 40, r"^[0-9a-f]{40}(-dirty)?$")
        self.assertRegex(said["compiler"], r"^(GNU|Clang) \d+\.")
        for name, version in said["libraries"].items():
            self.assertRegex(version, r"^\d+(\.\d+)*$", name)
        self.assertLessEqual({"Boost", "CLI11", "simdjson", "nlohmann_json"}, set(said["libraries"]))

    def test_json_without_a_command_or_the_version_is_refused(self) -> None:
        self.assertIn("--version", self.tune("--json", expect=2).err)
        self.assertIn("tune COMMAND --json", self.tune("--json", "ls", ".", expect=2).err)

    def test_of_a_command_as_json_what_is_missing_is_said_first(self) -> None:
        for command in ["ls", "status", "best"]:
            self.assertIn("DIR is required", self.tune(command, "--json", expect=2).err)


if __name__ == "__main__":
    main()
