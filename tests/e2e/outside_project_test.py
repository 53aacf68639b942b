"""Installs tune, moves the installation, and builds and runs somebody else's project with it.

Knows the build directory and the compiler from the environment: see library.cmake.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent
ROOT = SOURCE.parent.parent
CMAKE = os.environ.get("TUNE_CMAKE", "cmake")

# What users include; all else is installed because these include it.
FACES = ["trainable/blobs.h", "trainable/trainable.h", "tuner/tuner.h", "tuner/simulation/simulation.h", "tuner/plugin.h",
         "tuner/core/options.h", "callbacks/callbacks.h", "schedulers/schedulers.h",
         "searchers/searchers.h"]


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def with_their_includes(headers):
    found, todo = set(), list(headers)
    while todo:
        header = todo.pop()
        if header not in found:
            found.add(header)
            todo += re.findall(r'^#include "([^"]+)"', (ROOT / header).read_text(), re.M)
    return found


class OutsideProject(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run(CMAKE, "--install", os.environ["TUNE_BUILD"], "--prefix", cls.folder / "installed")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "installed").rename(cls.prefix)

    def build(self, name, *options):
        compiler = [f"-D{variable}={os.environ[f'TUNE_{variable}']}"
                    for variable in ("CMAKE_CXX_COMPILER", "CMAKE_CXX_COMPILER_LAUNCHER",
                                     "CMAKE_CXX_FLAGS", "CMAKE_BUILD_TYPE")
                    if os.environ.get(f"TUNE_{variable}")]
        folder = self.folder / name
        run(CMAKE, "-G", "Ninja", "-S", SOURCE / "outside_project", "-B", folder,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", *compiler, *options)
        run(CMAKE, "--build", folder)
        return folder

    def test_installed_headers_are_the_faces_and_what_they_include(self):
        include = self.prefix / "include" / "tune"
        installed = {path.relative_to(include).as_posix() for path in include.rglob("*.h")}
        self.assertEqual(installed, with_their_includes(FACES))

    def test_both_targets_build_and_run(self):
        built = self.build("both")
        line = run(built / "train", "--config", '{"x": 5}').splitlines()[-1]
        self.assertEqual(json.loads(line)["y"], 4.0)
        self.assertEqual(json.loads(run(built / "search", self.folder)), {"x": 3})
        listed = run(self.prefix / "bin" / "tune", "best", self.folder / "outside", "--json")
        self.assertEqual(json.loads(listed)["config"], {"x": 3})

    def test_a_training_program_needs_none_of_the_drivers_libraries(self):
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                   for name in ("Boost", "simdjson", "muparser")]
        built = self.build("trainable", "-DTUNE_COMPONENTS=trainable", *missing)
        self.assertFalse((built / "search").exists())
        line = run(built / "train", "--config", '{"x": 1}').splitlines()[-1]
        self.assertEqual(json.loads(line)["y"], 4.0)


if __name__ == "__main__":
    unittest.main()
