"""The page of `tune report` as it is built: of its sources, and with its own tests."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "apps" / "dashboard" / "page"
#: Where npm has put what the lock file names; kept between runs.
MODULES = pathlib.Path(os.environ["PAGE_MODULES"])


def run(words: list[str], directory: pathlib.Path, limit_s: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False, timeout=limit_s)


def installed() -> str:
    """Empty, or why the tools of the page cannot be had here."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm is not installed"
    version = run(["node", "--version"], PAGE).stdout
    if int(version.lstrip("v").split(".")[0]) < 18:
        return f"node is {version.strip()}, and 18 is needed"
    lock = (PAGE / "package-lock.json").read_bytes()
    done = MODULES / "installed"
    if done.exists() and done.read_bytes() == lock:
        return ""
    MODULES.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(PAGE / name, MODULES / name)
    try:
        ended = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"], MODULES)
    except subprocess.TimeoutExpired:
        return "npm ci took too long"
    if ended.returncode != 0:
        return f"npm ci: {ended.stderr.strip().splitlines()[0] if ended.stderr.strip() else ended.returncode}"
    done.write_bytes(lock)
    return ""


class Page(unittest.TestCase):
    def test_the_page_was_built_of_these_sources(self) -> None:
        """Needs no npm: somebody who changes a source there is told so here."""
        listed = {}
        for line in (PAGE / "built" / "sources.sha256").read_text().splitlines():
            digest, name = line.split("  ", 1)
            listed[name] = digest
        sources = [path for path in (PAGE / "src").rglob("*") if path.is_file()]
        files = [*sources, PAGE / "build.mjs", PAGE / "package-lock.json", PAGE / "built" / "report.html"]
        now = {str(path.relative_to(PAGE)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        self.assertEqual(listed, now, "in apps/dashboard/page: npm ci --ignore-scripts && npm run build")

    def test_no_committed_file_names_a_registry(self) -> None:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            self.assertNotIn('"resolved"', (PAGE / name).read_text(), name)

    def test_a_fresh_page_is_the_committed_one_and_its_figures_hold(self) -> None:
        if why := installed():
            self.skipTest(why)
        with tempfile.TemporaryDirectory(prefix="tune-page-") as scratch:
            copy = pathlib.Path(scratch) / "page"
            shutil.copytree(PAGE, copy, ignore=shutil.ignore_patterns("node_modules"))
            (copy / "node_modules").symlink_to(MODULES / "node_modules")
            for words in (["node", "build.mjs", "--check"], ["node", "test.mjs"], ["node", "node_modules/typescript/bin/tsc", "--noEmit"]):
                done = run(words, copy)
                self.assertEqual(done.returncode, 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
