"""The Debian package of this build holds what docs/packaging.md says.

Knows the build directory and cmake from the environment: see library.cmake.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["TUNE_BUILD"])
CPACK = pathlib.Path(os.environ.get("TUNE_CMAKE", "cmake")).with_name("cpack")


def printed(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Package(unittest.TestCase):
    package: pathlib.Path
    files: set[str]

    @classmethod
    def setUpClass(cls) -> None:
        if shutil.which("dpkg-shlibdeps") is None:
            raise unittest.SkipTest("dpkg-dev is not installed")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        printed(CPACK, "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder.name)
        (cls.package,) = pathlib.Path(folder.name).glob("tune_*.deb")
        listed = printed("dpkg-deb", "-c", cls.package)
        cls.files = {line.split(" ./", 1)[1] for line in listed.splitlines() if " ./" in line}

    def field(self, name: str) -> str:
        return printed("dpkg-deb", "-f", self.package, name).strip()

    def test_it_holds_program_pages_completion_schema_docs_and_examples(self) -> None:
        for name in ["bin/tune", "share/man/man1/tune.1", "share/man/man1/tune-run.1",
                     "share/bash-completion/completions/tune", "share/zsh/vendor-completions/_tune",
                     "share/tune/experiment.schema.json", "share/doc/tune/docs/protocol.md",
                     "share/doc/tune/copyright", "share/doc/tune/apps/examples/single_file/main.cpp",
                     "share/doc/tune/apps/examples/plain/logistic.py", "share/doc/tune/apps/examples/plain/annealing.c",
                     "share/doc/tune/tests/trainable/minimal_client.py", "share/tune/python/tune/__init__.py",
                     "share/tune/skills/tune/SKILL.md",
                     "include/tune/tuner/tuner.h", "lib/cmake/tune/tuneConfig.cmake"]:
            self.assertIn(f"usr/{name}", self.files)

    def test_its_dependencies_are_the_libraries_that_the_program_is_linked_with(self) -> None:
        needed = self.field("Depends")
        for library in ("libc6", "libstdc++6", "libboost-filesystem1", "libre2", "libsimdjson"):
            self.assertIn(library, needed)
        self.assertRegex(self.field("Suggests"), r"libboost1\.\d+-dev")

    def test_its_version_names_the_release_that_it_is_for(self) -> None:
        self.assertRegex(self.field("Version"), r"^\d+\.\d+\.\d+-1~[a-z]+\d")


if __name__ == "__main__":
    unittest.main()
