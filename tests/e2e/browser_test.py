"""The page of `tune report` in a browser: it shows what the commands say, obeys the keyboard, and stays silent."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

from browser import PROGRAM, Browser
from cli_support import TUNE, Case, main
from dashboard_server import Server
from dashboard_test import WAITING

HOSTILE = '</script><img src=x onerror="alert(1)">'


@unittest.skipIf(PROGRAM is None, "chromium is not installed")
class InABrowser(Case):
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self) -> None:
        super().setUp()
        # What a page before has said may still be on its way.
        self.browser.ask("Page.navigate", url="about:blank")
        self.browser.value("0")
        self.browser.said.clear()

    def open_report(self, directory: str, fragment: str = "") -> None:
        self.tune("report", directory, "--html", "report.html")
        self.browser.open(self.path("report.html"), fragment)

    def texts(self, selector: str) -> list[str]:
        return self.browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.innerText)")

    def assert_silent(self) -> None:
        """No error, and nothing that the page's policy had to forbid."""
        self.assertEqual(self.browser.said, [])

    def searched(self) -> str:
        self.write("spec.json", {"trainable": {"command": ["python3", "-c", "import sys\nfor t in (1, 2, 3): print(f'loss={float(sys.argv[1]) / t}')", "${config.x}"],
                                               "plain": {}},
                                 "name": "search", "metric": "loss", "mode": "min", "num_samples": 8, "searcher": "random", "param_space": {"x": {"uniform": [1, 2]}}})
        self.tune("run", "spec.json")
        return "results/search"

    def test_the_page_shows_what_the_commands_say_and_is_driven_by_keys(self) -> None:
        directory = self.searched()
        self.open_report(directory)
        best = self.json("best", directory)
        self.assertEqual(self.texts("h1"), ["search"])
        self.assertIn(best["trial_id"], self.texts(".lead")[0])
        self.assertEqual(self.texts("[aria-label=trials] tbody tr:first-child td:nth-child(2)"), [best["trial_id"]])
        # A range, by its field.
        self.browser.value("document.querySelector('.ranges').open = true")
        self.browser.value("(() => { const field = document.querySelector('[aria-label=\"x to\"]'); field.value = '1.5'; field.dispatchEvent(new Event('change', { bubbles: true })); })()")
        inside = sum(trial["config"]["x"] <= 1.5 for trial in self.json("ls", directory))
        self.browser.wait(f"document.querySelectorAll('[aria-label=trials] tbody tr').length === {inside}")
        # A picture, by its arrow keys.
        self.browser.value("document.querySelector('canvas').focus()")
        self.browser.press("ArrowRight")
        self.browser.wait("/trial_0000\\d: best/.test(document.querySelector('.said').innerText)")
        self.browser.press("Enter")
        self.browser.wait("/^#e0t\\d$/.test(location.hash) && document.querySelector('h1').innerText.startsWith('trial_0000')")
        self.assert_silent()

    def test_texts_of_trials_stay_texts(self) -> None:
        self.write("hostile.py", f"print({HOSTILE!r})\nprint('\\u202ebidi \\u0007')\nprint('loss=1')\n")
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("hostile.py"), "${args}"], "plain": {}}, "name": "hostile", "metric": "loss", "mode": "min",
                                 "num_samples": 2, "searcher": "random", "param_space": {HOSTILE: {"uniform": [0, 1]}, "__proto__": {"choice": [HOSTILE, "b"]}}})
        self.tune("run", "spec.json", expect=None)
        self.open_report("results/hostile")
        self.assertIn(HOSTILE, self.texts(".lead")[0])
        self.open_report("results/hostile", "#e0t0")
        self.assertTrue(any("⟨U+202E⟩bidi ⟨U+0007⟩" in text for text in self.texts("pre")), self.texts("pre"))
        self.assertEqual(self.browser.value("document.images.length"), 0)
        for fragment in ("#e0t99", "#e7", "#e0t<img src=x>", "#javascript:alert(1)"):
            self.browser.value(f"location.hash = {json.dumps(fragment)}")
            self.browser.wait("document.querySelector('h1') !== null")
        self.assert_silent()


    def test_a_live_page_follows_a_run_keeps_what_was_chosen_and_steers(self) -> None:
        self.write("waiting.py", WAITING)
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("waiting.py"), self.path("go"), "${config.x}"], "plain": {}}, "name": "live", "metric": "loss",
                                 "mode": "min", "num_samples": 4, "max_concurrent_trials": 2, "searcher": "random", "param_space": {"x": {"uniform": [1, 2]}}})
        driver = subprocess.Popen([TUNE, "run", "spec.json"], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        while not os.path.exists(self.path("results/live/CURRENT")):
            self.assertIsNone(driver.poll())
        server = Server(self.dir, "results/live", "--allow-control")
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        self.addCleanup(self.browser.ask, "Page.navigate", url="about:blank")
        self.browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.port}/#token={server.token}")
        self.browser.wait("document.querySelectorAll('[aria-label=trials] tbody tr').length === 2")
        self.assertNotIn(server.token, self.browser.value("location.href + document.cookie + document.documentElement.innerHTML"))
        self.assertEqual(self.texts("[role=status]"), ["It runs; this page follows it."])
        # What is chosen, and what has the focus, stay when more comes.
        self.browser.value("document.querySelector('.ranges').open = true")
        self.browser.value("(() => { const field = document.querySelector('[aria-label=\"x to\"]'); field.value = '1.99'; field.dispatchEvent(new Event('change', { bubbles: true })); field.focus(); })()")
        self.browser.value("scrollTo(0, 300)")
        self.write("go", "")
        driver.wait(60)
        self.browser.wait("document.querySelector('[role=status]').innerText === 'It has finished.'")
        status = self.json("status", "results/live")
        inside = sum(trial["config"]["x"] <= 1.99 for trial in self.json("ls", "results/live"))
        self.browser.wait(f"document.querySelectorAll('[aria-label=trials] tbody tr').length === {inside} && document.querySelector('.lead').innerText.includes({json.dumps(status['best']['trial_id'])})")
        self.assertEqual(self.browser.value("[document.activeElement.getAttribute('aria-label'), document.activeElement.value]"), ["x to", "1.99"])
        self.assertGreater(self.browser.value("scrollY"), 200)
        facts = dict(zip(self.texts(".facts dt"), self.texts(".facts dd"), strict=True))
        self.assertEqual((facts["completed"], facts["results"]), (str(status["ends"]["completed"]), str(status["results"])))
        # The end of a log comes from the server.
        self.browser.value("location.hash = '#e0t1'")
        self.browser.wait("[...document.querySelectorAll('pre')].some((each) => each.innerText.includes('loss=0.5'))")
        self.assert_silent()
        server.process.kill()
        self.browser.wait("document.querySelector('[role=status]').innerText.includes('have ended')")

    def test_a_live_page_says_what_follows_before_it_asks_for_it(self) -> None:
        self.write("waiting.py", WAITING)
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("waiting.py"), self.path("go"), "${config.x}"], "plain": {}}, "name": "live", "metric": "loss",
                                 "mode": "min", "num_samples": 1, "searcher": "random", "param_space": {"x": {"uniform": [1, 2]}}})
        driver = subprocess.Popen([TUNE, "run", "spec.json"], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        while not os.path.exists(self.path("results/live/CURRENT")):
            self.assertIsNone(driver.poll())
        server = Server(self.dir, "results/live", "--allow-control")
        self.addCleanup(server.close)
        self.addCleanup(self.browser.ask, "Page.navigate", url="about:blank")
        self.browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.port}/#token={server.token}")
        self.browser.wait("document.querySelector('[aria-label=steer] textarea') !== null")
        self.browser.value("document.querySelector('[aria-label=steer] details').open = true")
        self.browser.value("document.querySelector('[aria-label=steer] textarea').value = '{\"x\": 1.25}'")
        self.browser.value("[...document.querySelectorAll('[aria-label=steer] button')].find((each) => each.innerText === 'add it').click()")
        self.browser.wait("document.querySelector('[role=alertdialog]') !== null")
        self.assertIn('A trial with {"x":1.25} runs next', self.texts("[role=alertdialog]")[0])
        self.assertEqual(self.json("status", "results/live")["trials"], 1)
        self.browser.value("document.activeElement.click()")
        self.browser.wait("[...document.querySelectorAll('[aria-label=steer] .hint')].some((each) => each.innerText.includes('trial_00001'))")
        self.write("go", "")
        driver.wait(60)
        self.assertEqual(self.json("ls", "results/live")[1]["config"]["x"], 1.25)
        self.assert_silent()


if __name__ == "__main__":
    main()
