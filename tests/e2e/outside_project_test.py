"""Installs tune, moves the installation, and builds and runs somebody else's project with it.

Knows the build directory and the compiler from the environment: see library.cmake.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent
ROOT = SOURCE.parent.parent
CMAKE = os.environ.get("TUNE_CMAKE", "cmake")

# What users include; all else is installed because these include it.
FACES = ["trainable/blobs.h", "trainable/trainable.h", "tuner/tuner.h", "tuner/simulation/simulation.h", "tuner/plugin.h",
         "tuner/policy/options.h", "callbacks/callbacks.h", "schedulers/schedulers.h",
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

    def test_links_of_the_installed_pages_lead_to_installed_files(self):
        pages = sorted((self.prefix / "share/doc/tune").rglob("*.md"))
        self.assertGreater(len(pages), 30)
        for page in pages:
            for link in re.findall(r"\]\(([\w./-]+)(?:#[\w-]*)?\)", page.read_text()):
                with self.subTest(page=page.name, link=link):
                    self.assertTrue((page.parent / link).is_file())

    def test_the_installed_package_for_python_finds_the_program_beside_it(self):
        package = self.prefix / "share/tune/python"
        ask = "import tune, tune._binary; print(tune.__file__, tune._binary.find_binary())"
        environment = {**os.environ, "PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("TUNE_BINARY", None)
        done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), [str(package / "tune/__init__.py"), str(self.prefix / "bin/tune")], done.stderr)

    def test_the_skill_is_installed(self):
        skill = (self.prefix / "share/tune/skills/tune/SKILL.md").read_text()
        self.assertEqual(run(self.prefix / "bin/tune", "init", "--skill", "-"), skill)

    def test_both_targets_build_and_run(self):
        built = self.build("both")
        line = run(built / "train", "--config", '{"x": 5}').splitlines()[-1]
        self.assertEqual(json.loads(line)["y"], 4.0)
        self.assertEqual(json.loads(run(built / "search", self.folder)), {"x": 3})
        listed = run(self.prefix / "bin" / "tune", "best", self.folder / "outside", "--json")
        self.assertEqual(json.loads(listed)["config"], {"x": 3})

    def test_a_training_program_needs_none_of_the_drivers_libraries(self):
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                   for name in ("Boost", "simdjson")]
        built = self.build("trainable", "-DTUNE_COMPONENTS=trainable", *missing)
        self.assertFalse((built / "search").exists())
        line = run(built / "train", "--config", '{"x": 1}').splitlines()[-1]
        self.assertEqual(json.loads(line)["y"], 4.0)


if __name__ == "__main__":
    unittest.main()
