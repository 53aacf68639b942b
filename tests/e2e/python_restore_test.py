"""Searches in Python that are ended from outside, go on, with the same program or another, and are extended."""
import glob
import os
import signal

from cli_support import main
from python_support import HEAD, TRAIN, PythonCase

ENDLESS = TRAIN + """
if __name__ == "__main__":
    print("begins")
    tune.Tuner(train, {"lr": 0.01, "sleep": 0.05, "epochs": 10000}, name="left", **GOAL).fit()
    print("never")
"""
THREE = TRAIN + """
if __name__ == "__main__":
    tune.Tuner(train, LR, num_samples=2, name="three", stop={"training_iteration": 3},
               checkpoint_config={"checkpoint_at_end": True}, **GOAL).fit()
"""


def restored(given, **more):
    """A script that goes on with `given`, and says which warnings came, what each trial came to, and of what kind
    the error was."""
    text = HEAD + """
import warnings
BEFORE
if __name__ == "__main__":
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            results = tune.Tuner.restore(GIVEN).fit()
            found = [each.metrics.get("training_iteration") for each in results]
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    print(json.dumps([[str(each.message) for each in caught], found]))
"""
    return text.replace("BEFORE", more.get("before", "")).replace("GIVEN", given)


class Restore(PythonCase):
    def is_left(self, number, script=ENDLESS):
        """What it has printed when it is ended so, while a trial runs."""
        with self.start(script) as search:
            log = self.path("results/left/trial_00000/result.json")
            self.wait_until(lambda: os.path.exists(log) and os.path.getsize(log) > 0, "a result")
            os.kill(search.pid, number)
            out = search.communicate()[0]
        self.assertIsNone(self.json("status", "results/left")["driver"])
        last = self.iterations(self.path("results/left/trial_00000"))[-1]
        self.assertIn(f"saves {last}\n", self.read("results/left/trial_00000/stdout.log"))
        return search.returncode, out

    def test_what_ends_the_process_ends_the_driver_and_then_it_as_without_a_search(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                code, out = self.is_left(number)
                self.assertEqual(code, -number)
                self.assertIn("begins", out)
                self.assertNotIn("never", out)
                os.rename(self.path("results"), self.path(f"results{number}"))

    def test_a_handler_of_ones_own_is_called_once_all_is_saved(self):
        code, out = self.is_left(signal.SIGTERM, ENDLESS.replace('    print("begins")\n', """
    import signal
    def leave(number, frame):
        print("saved:", os.path.exists("results/left/LOCK") is False, flush=True)
        sys.exit(7)
    signal.signal(signal.SIGTERM, leave)
"""))
        self.assertEqual(code, 7)
        self.assertIn("saved: True", out)

    def test_a_signal_that_is_ignored_stays_so(self):
        with self.start("import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
                        + ENDLESS.replace("10000", "60").replace('"never"', '"to the end"')) as search:
            log = self.path("results/left/trial_00000/result.json")
            self.wait_until(lambda: os.path.exists(log) and os.path.getsize(log) > 0, "a result")
            os.kill(search.pid, signal.SIGHUP)
            self.assertIn("to the end", search.communicate()[0])
        self.assertEqual(search.returncode, 0)

    def test_nothing_is_left_of_a_search_that_is_killed_but_its_directory(self):
        os.mkdir(self.path("scratch"))
        with self.start(ENDLESS, TMPDIR=self.path("scratch")) as search:
            log = self.path("results/left/trial_00000/result.json")
            self.wait_until(lambda: os.path.exists(log) and os.path.getsize(log) > 0, "a result")
            os.killpg(search.pid, signal.SIGKILL)
            search.communicate()
        self.assertEqual(os.listdir(self.path("scratch")), [])

    def test_the_same_program_is_no_warning_and_changed_code_is_one(self):
        self.run_script(THREE)
        before = "from search import train"
        again = restored('"results/three", train, num_samples=3', before=before)
        self.assertEqual(self.answer(again, name="again.py")[1], [3, 3, 3])
        with open(self.path("search.py"), "a", encoding="utf-8") as file:
            file.write("# another\n")
        warnings = self.answer(again, name="again.py")[0]
        self.assertRegex(" ".join(warnings), r"the code of search:train has changed since trials ran it")
        self.assertEqual(self.answer(again, name="again.py")[0], [])  # said once

    def test_where_the_script_has_moved_the_given_function_runs_and_without_one_a_sentence_says_so(self):
        self.run_script(THREE)
        os.rename(self.path("search.py"), self.path("moved.py"))
        _, found = self.answer(restored('"results/three", num_samples=3'), name="again.py")
        self.assertRegex(found, r"TuneError: .*search\.py:train, and there is no such file: Tuner\.restore\(path, tr")
        warnings, found = self.answer(restored('"results/three", train, num_samples=3',
                                               before="from moved import train"), name="again.py")
        self.assertRegex(" ".join(warnings), r"trials ran \S+search\.py:train so far, and run moved:train from now on, "
                                             "whose code is the same")
        self.assertEqual(found, [3, 3, 3])

    def test_a_search_is_extended_by_samples_stop_and_concurrency(self):
        self.run_script(THREE)
        _, found = self.answer(restored('"results/three", num_samples=3, stop={"training_iteration": 5}, '
                                        'max_concurrent_trials=1, resume_finished=True'), name="again.py")
        self.assertEqual(found, [5, 5, 5])
        spec = self.json("status", "results/three")
        self.assertEqual(spec["total_trials"], 3)
        with self.start(restored('"results/three", seed=3'), name="again.py") as search:
            out = search.communicate()[0]
        self.assertIn("the seed of a started experiment cannot change", out)
        self.assertIn("TuneError", out.splitlines()[-1])

    def test_what_was_pickled_moves_with_its_directory_and_other_data_take_its_place(self):
        self.write("lib.py", HEAD + "def train(config, data):\n    tune.report({'loss': sum(data)})\n")
        before = "import lib\ndef bound(*data):\n    return tune.with_parameters(lib.train, data=list(data))"
        self.run_script(HEAD + before + """
if __name__ == "__main__":
    tune.Tuner(bound(1, 2), {"x": tune.uniform(0, 1)}, metric="loss", mode="min", name="bound").fit()
""")
        os.rename(self.path("results/bound"), self.path("moved"))
        self.tune("resume", "moved", "--num-samples", "2", "--progress", "none")
        for number, given in ((3, '"moved", num_samples=3'), (4, '"moved", bound(1, 2), num_samples=4')):
            self.assertEqual(self.answer(restored(given, before=before), name="again.py"), [[], [1] * number])
        warnings, _ = self.answer(restored('"moved", bound(7), num_samples=5', before=before), name="again.py")
        self.assertRegex(" ".join(warnings), r"trials ran \S+\.pkl so far, and run \S+\.pkl from now on$")
        self.assertEqual([each["metrics"]["loss"] for each in self.json("ls", "moved")], [3, 3, 3, 3, 7])
        self.assertEqual(len(glob.glob(self.path("moved/.trainable-*.pkl"))), 1)


if __name__ == "__main__":
    main()
