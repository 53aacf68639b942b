"""Plants includes that must not be, one at a time, and expects check_layers.py to name each."""
import pathlib
import tempfile
import unittest

from check_layers import violations

PLANTED = {
    "trainable/trainable.h": ['"tuner/core/error.h"', "<boost/asio.hpp>", "<nlohmann/json.hpp>"],
    "tuner/core/trial.h": ["<thread>", "<fstream>", "<filesystem>", "<chrono>", "<random>",
                           "<unistd.h>", "<simdjson.h>", '"tuner/store/journal.h"'],
    "tuner/core/trial.cpp": ["<xxhash.h>", "<boost/asio.hpp>", '"schedulers/schedulers.h"'],
    "tuner/store/journal.cpp": ['"tuner/exec/executor.h"', '"tuner/loop/loop.h"', "<simdjson.h>",
                                '"tuner/core/metrics_dom.h"'],
    "tuner/exec/child.cpp": ['"tuner/store/paths.h"', '"searchers/searchers.h"', "<CLI/CLI.hpp>"],
    "tuner/loop/loop.cpp": ['"tuner/exec/process_executor.h"', '"callbacks/callbacks.h"',
                       '"tuner/run.h"', '"schedulers/schedulers.h"', "<boost/asio.hpp>"],
    "tuner/spec/spec.cpp": ['"tuner/store/paths.h"', '"tuner/loop/loop.h"'],
    "schedulers/asha.cpp": ['"searchers/searchers.h"', '"tuner/loop/loop.h"', "<random>", "<mutex>"],
    "searchers/random.cpp": ['"schedulers/schedulers.h"', "<chrono>", "<Eigen/Core>",
                             "<boost/random/sobol.hpp>"],
    "callbacks/json.cpp": ['"tuner/store/file_system.h"', '"tuner/run.h"'],
    "apps/examples/toy/main.cpp": ['"tuner/loop/loop.h"', '"tuner/store/journal.h"'],
    "apps/tune/main.h": ["<CLI/CLI.hpp>"],
    "tests/core/trial_test.cpp": ["<catch2/catch.hpp>", "<some_library/all.h>"],
    "helpers/strings.cpp": ['"helpers/strings.h"'],
}

GOOD = {
    "trainable/values.h": ["<nlohmann/json.hpp>", "<string>"],
    "tuner/core/callback.h": ["<filesystem>", '"tuner/core/trial.h"', '"trainable/values.h"'],
    "tuner/store/checksum.cpp": ["<xxhash.h>", "<fstream>", "<sys/stat.h>"],
    "tuner/exec/process.cpp": ["<boost/asio/post.hpp>", "<thread>"],
    "searchers/sobol.cpp": ["<boost/random/sobol.hpp>"],
    "tuner/loop/loop.cpp": ['"tuner/loop/loop.h"', '"tuner/exec/executor.h"', '"tuner/store/paths.h"'],
    "tuner/run.cpp": ['"schedulers/schedulers.h"', '"tuner/exec/process_executor.h"'],
    "apps/tune/cli.cpp": ["<CLI/CLI.hpp>", '"tuner/store/lock.h"'],
}


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


if __name__ == "__main__":
    unittest.main()
