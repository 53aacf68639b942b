"""Plants includes that must not be, one at a time, and expects check_layers.py, or the compiler, to refuse each."""
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

from check_layers import violations

PLANTED = {
    "trainable/trainable.h": ["<boost/asio.hpp>", "<nlohmann/json.hpp>"],
    "tuner/model/trial.h": ["<thread>", "<fstream>", "<filesystem>", "<chrono>", "<random>", "<unistd.h>", "<simdjson.h>",
                            '"trial_words.h"', '"tuner/model/../journal/journal.h"', '"trainable/trainable.h"'],
    "tuner/model/trial.cpp": ["<xxhash.h>", "<boost/asio.hpp>"],
    "tuner/journal/journal.cpp": ["<simdjson.h>", '"tuner/model/metrics_dom.h"'],
    "tuner/execution/local/child.cpp": ["<CLI/CLI.hpp>"],
    "tuner/run/loop.cpp": ['"tuner/process/spawn.h"', "<boost/asio.hpp>"],
    "tuner/host/policy_host.cpp": ['"tuner/process/spawn.h"'],
    "schedulers/asha.cpp": ["<random>", "<mutex>"],
    "searchers/random.cpp": ["<chrono>", "<Eigen/Core>", "<boost/random/sobol.hpp>"],
    "apps/examples/toy/main.cpp": ['"tuner/run/loop.h"', '"tuner/journal/journal.h"', '"trainable/protocol.h"'],
    "apps/tune/main.h": ["<CLI/CLI.hpp>"],
    "tests/model/trial_test.cpp": ["<catch2/catch.hpp>", "<some_library/all.h>"],
}

GOOD = {
    "trainable/values.h": ["<nlohmann/json.hpp>", "<string>"],
    "tuner/policy/callback.h": ["<filesystem>", '"tuner/model/trial.h"', '"trainable/values.h"'],
    "tuner/disk/checksum.cpp": ["<xxhash.h>", "<fstream>", "<sys/stat.h>"],
    "tuner/process/process.cpp": ["<boost/asio/post.hpp>", "<thread>"],
    "searchers/sobol.cpp": ["<boost/random/sobol.hpp>"],
    "tuner/run/loop.cpp": ['"tuner/run/loop.h"', '"tuner/execution/executor.h"', '"tuner/process/interrupts.h"'],
    "tuner/run.cpp": ['"schedulers/schedulers.h"', '"tuner/execution/local/process_executor.h"'],
    "apps/tune/cli.cpp": ["<CLI/CLI.hpp>", '"tuner/disk/lock.h"'],
}

# A folder, a header that its sources may include, and one that they may not.
COMPILED = [
    ("trainable", "trainable/values.h", "tuner/base/error.h"),
    ("tuner/base", "trainable/values.h", "tuner/model/trial.h"),
    ("tuner/model", "tuner/base/error.h", "tuner/policy/scheduler.h"),
    ("tuner/policy", "tuner/model/trial.h", "tuner/disk/file_system.h"),
    ("tuner/spec", "tuner/space/domain.h", "tuner/run/loop.h"),
    ("tuner/journal", "tuner/disk/file_system.h", "tuner/execution/executor.h"),
    ("tuner/process", "tuner/disk/regular_file.h", "tuner/execution/executor.h"),
    ("tuner/execution/local", "tuner/execution/executor.h", "tuner/journal/journal.h"),
    ("tuner/run/commit", "tuner/policy/scheduler.h", "tuner/run/trials/attempts.h"),
    ("tuner/run", "tuner/execution/executor.h", "tuner/execution/local/process_executor.h"),
    ("schedulers", "tuner/policy/scheduler.h", "searchers/searchers.h"),
    ("callbacks", "tuner/policy/callback.h", "tuner/journal/journal.h"),
    ("tuner/view", "tuner/result_grid.h", "apps/tune/output.h"),
]


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, includes):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("// A comment.\n" + "".join(f"#include {name}\n" for name in includes))

    def test_what_the_table_allows_passes(self):
        for path, includes in GOOD.items():
            self.write(path, includes)
        self.assertEqual(violations(self.root), ([], len(GOOD)))

    def test_each_planted_include_is_named_with_file_and_line(self):
        for path, includes in PLANTED.items():
            for include in includes:
                with self.subTest(path=path, include=include):
                    self.write(path, [include])
                    found, _ = violations(self.root)
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(f"{path}:2: {include[1:-1]} ", found[0])
                    (self.root / path).unlink()

    def test_a_wrong_include_does_not_compile(self):
        build = pathlib.Path(os.environ["TUNE_BUILD"])
        source = pathlib.Path(__file__).resolve().parent.parent
        folders = {}  # a target's, by the folder of its sources
        for entry in json.loads((build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            folder = pathlib.Path(words[words.index("-o") + 1]).parts
            folders.setdefault("/".join(folder[: folder.index("CMakeFiles")]), [w for w in words if w.startswith("-I")])
        for folder, right, wrong in COMPILED:
            with self.subTest(folder=folder):
                seen = [pathlib.Path(path[2:]) for path in folders[folder]]
                self.assertTrue((source / wrong).is_file(), wrong)
                self.assertTrue(any((path / right).is_file() for path in seen), right)
                self.assertFalse(any((path / wrong).exists() for path in seen), wrong)


if __name__ == "__main__":
    unittest.main()
