"""Drives library_program, a user's program of the library, and checks what the library told it.

Real processes in fresh directories; the programs are named by the environment (library.cmake).
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest


def scores(*values):
    return {"scores": list(values)}


class Library(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def fit(self, scenario, space=None, exit_code=0, program="LIBRARY_PROGRAM", **environment):
        """One run of the program; what it printed."""
        environment = {**os.environ, "SPACE": json.dumps(space), **environment}
        done = subprocess.run([os.environ[program], scenario, str(self.folder)], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def fit_each(self, scenario, *spaces, **more):
        """As `fit`, with one trial for each of the spaces, in their order."""
        return self.fit(scenario, {"case": {"grid_search": list(spaces)}}, **more)
