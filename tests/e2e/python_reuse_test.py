"""A process of a Python function that trains one trial after the other: where it does, and where not."""
import json
import os
import re
import signal

from cli_support import main
from python_support import HEAD, PythonCase

#: Searches over functions that leave something behind, and what each process was.
SEARCH = HEAD + """
import atexit, resource, signal, subprocess, threading

def search(train, n=3, **fields):
    results = tune.Tuner(train, {"i": tune.grid_search(list(range(n)))}, metric="loss", mode="min",
                         max_concurrent_trials=1, run_config=tune.RunConfig(verbose=2), **fields).fit()
    return [[each.state, each.metrics.get("pid")] for each in results]

def told(**more):
    tune.report({"loss": 1, "pid": os.getpid(), **more})
"""


class PythonReuse(PythonCase):
    def test_short_trials_of_a_function_share_a_process_and_nothing_else(self):
        found = self.answer(SEARCH + """
import random

def train(config):
    assert os.environ["TUNE_TRIAL_ID"] == tune.get_context().get_trial_id()
    assert os.environ["TUNE_TRIAL_DIR"] == os.getcwd() == tune.get_context().get_trial_dir()
    print("this is", config["i"])
    print("and went wrong in", config["i"], file=sys.stderr)
    open("mine", "x").close()
    told(drawn=random.random())

if __name__ == "__main__":
    results = tune.Tuner(train, {"i": tune.grid_search(list(range(8)))}, metric="loss", mode="min", name="shared",
                         max_concurrent_trials=1, run_config=tune.RunConfig(verbose=0)).fit()
    print(json.dumps([[each.state, each.metrics["pid"], each.metrics["drawn"], each.path] for each in results]))
""")
        states, pids, drawn, paths = (set(column) for column in zip(*found))
        self.assertEqual(states, {"TERMINATED"})
        self.assertEqual((len(pids), len(drawn), len(paths)), (1, 8, 8))
        for i, (_, _, _, path) in enumerate(found):
            self.assertEqual(self.read(path, "stdout.log"), f"this is {i}\n")
            self.assertEqual(self.read(path, "stderr.log"), f"and went wrong in {i}\n")
            self.assertEqual(os.listdir(os.path.join(path, "work")), ["mine"])

    def test_what_is_left_behind_ends_the_process_and_one_notice_says_what(self):
        out = self.run_script(SEARCH + """
KEPT, COUNT = [], 0

def thread(config):
    threading.Thread(target=time.sleep, args=(60,), name="watcher", daemon=True).start()
    told()

def child(config):
    subprocess.Popen(["sleep", "60"])
    told()

def file(config):
    file.handle = open(f"kept", "w")
    told()

def handler(config):
    signal.signal(signal.SIGUSR1, lambda *_: None)
    told()

def variable(config):
    os.environ["OMP_NUM_THREADS"] = "3"
    told()

def at_exit(config):
    atexit.register(print, "over")
    told()

def limit(config):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    told()

def path(config):
    sys.path.append("/nowhere")
    told()

def list_(config):
    KEPT.append(config["i"])
    told()

def count(config):
    global COUNT
    COUNT += 1
    told()

if __name__ == "__main__":
    for each in (thread, child, file, handler, variable, at_exit, limit, path, list_, count):
        print("search", each.__name__, flush=True)
        found = search(each, n=2)
        assert [state for state, _ in found] == ["TERMINATED"] * 2, found
        print("processes", len({pid for _, pid in found}), flush=True)
    print("search anyway", flush=True)
    print("processes", len({pid for _, pid in search(count, reuse_processes=True)}), flush=True)
    print("search never", flush=True)
    print("processes", len({pid for _, pid in search(told_only, reuse_processes=False)}), flush=True)
""".replace("def thread(", "def told_only(config):\n    told()\n\ndef thread("))
        expected = {
            "thread": r"a thread is left running \(watcher\)",
            "child": r"a process is left running \(\d+\)",
            "file": r"a file is left open \(.*/trial_00000/work/kept\)",
            "handler": "it has changed the handler of SIGUSR1",
            "variable": "it has set the environment variable OMP_NUM_THREADS",
            "at_exit": "it has left something to the process's end",
            "limit": "it has changed the limit RLIMIT_CORE",
            "path": "it has changed sys.path",
            "list_": "it has changed the global 'KEPT'",
            "count": "it has changed the global 'COUNT'",
        }
        parts = dict(re.findall(r"^search (\S+)\n(.*?)(?=^search |\Z)", out, re.S | re.M))
        for name, sentence in expected.items():
            with self.subTest(name):
                self.assertRegex(parts[name], "that of trial_00000 cannot be used again: " + sentence)
                self.assertIn("processes 2\n", parts[name])
        for name, processes in (("anyway", 1), ("never", 3)):
            with self.subTest(name):
                self.assertIn(f"processes {processes}\n", parts[name])
                self.assertNotIn("cannot be used again", parts[name])

    def test_what_an_import_sets_is_none_of_the_functions_doing(self):
        self.write("setting.py", "import atexit, os\nos.environ['SET_BY_AN_IMPORT'] = '1'\natexit.register(print, 'over')\n")
        found = self.answer(SEARCH + """
def train(config):
    import setting
    told()

if __name__ == "__main__":
    print(json.dumps(search(train)))
""")
        self.assertEqual(len({pid for _, pid in found}), 1)

    def test_what_was_found_ahead_of_the_question_is_looked_for_again_and_nothing_found_is_an_answer(self):
        found = self.answer(SEARCH + """
from tune import _again

def train(config):
    pass

def ask():
    seeds = _again.Seeds()
    seeds.on_loaded()
    traces = _again.Traces(train, seeds)
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="late")
    thread.start()
    traces.look_ahead(0)
    answers = [traces.speak_against(False, 0)]
    over.set()
    thread.join()
    answers.append(traces.speak_against(False, 0))
    traces.look_ahead(0)
    looks = []
    real, _again._descriptors = _again._descriptors, lambda known: looks.append(1) or real(known)
    answers.append(traces.speak_against(False, 0))
    answers.append(len(looks))
    traces.clear()
    answers.append(traces.speak_against(False, 0))
    answers.append(len(looks))
    return answers

if __name__ == "__main__":
    print(json.dumps(ask()))
""")
        self.assertEqual(found, ["a thread is left running (late)", None, None, 0, None, 1])

    def test_what_the_function_imports_is_a_part_of_the_start_that_the_next_trial_is_spared(self):
        self.write("heavy.py", "import os, time\ntime.sleep(0.2)\nprint('loaded', file=open(os.environ['LOADS'], 'a'))\n")
        found = self.answer(SEARCH + """
from tune import _again

_again._age_s = lambda: 0.0  # a process that was there at once, so that only imports are worth sparing

def imports(config):
    import heavy
    told()

def sleeps(config):
    time.sleep(0.1)
    told()

if __name__ == "__main__":
    print(json.dumps([len({pid for _, pid in search(each)}) for each in (imports, sleeps)]))
""", LOADS=self.path("loads"))
        self.assertEqual(found, [1, 3])
        self.assertEqual(self.read("loads"), "loaded\n")

    def test_random_numbers_are_each_trials_own_unless_the_file_seeds_them(self):
        for head, numbers in (("", 4), ("random.seed(7)\n", 1)):
            with self.subTest(head):
                found = self.answer(SEARCH + "import random\n" + head + """
def train(config):
    told(drawn=random.random())

if __name__ == "__main__":
    results = tune.Tuner(train, {"i": tune.grid_search([0, 1, 2, 3])}, metric="loss", mode="min",
                         max_concurrent_trials=1, run_config=tune.RunConfig(verbose=0)).fit()
    print(json.dumps([[each.metrics["pid"], each.metrics["drawn"]] for each in results]))
""")
                self.assertEqual(len({pid for pid, _ in found}), 1)
                self.assertEqual(len({drawn for _, drawn in found}), numbers)

    def test_what_the_function_imports_seeds_each_trial_at_its_import(self):
        self.write("seeding.py", "import random\nrandom.seed(7)\n")
        found = self.answer(SEARCH + """
import random

def train(config):
    before = random.random()
    import seeding
    first = random.random()
    import seeding
    told(before=before, drawn=first, more=random.random())

if __name__ == "__main__":
    results = tune.Tuner(train, {"i": tune.grid_search([0, 1, 2, 3])}, metric="loss", mode="min",
                         max_concurrent_trials=1, run_config=tune.RunConfig(verbose=0)).fit()
    print(json.dumps([[each.metrics[name] for name in ("pid", "before", "drawn", "more")] for each in results]))
""")
        self.assertEqual([len(set(column)) for column in zip(*found)], [1, 4, 1, 1])

    def test_a_failure_and_a_crash_are_one_trials_and_memory_that_grows_is_given_back(self):
        found = self.answer(SEARCH + """
MORE = []

def fails(config):
    if config["i"] == 1:
        raise ValueError("what is this")
    if config["i"] == 3:
        os.kill(os.getpid(), 9)
    told()

def grows(config):
    MORE.append(bytearray(90 << 20))
    MORE[-1][::4096] = bytes(len(MORE[-1][::4096]))
    told()

if __name__ == "__main__":
    print(json.dumps([search(fails, n=6), search(grows, n=4, reuse_processes=True)]))
""")
        fails, grows = found
        self.assertEqual([state for state, _ in fails], ["TERMINATED", "ERROR"] * 2 + ["TERMINATED"] * 2)
        self.assertEqual(fails[4][1], fails[5][1])
        pids = [pid for _, pid in grows]
        self.assertEqual((len(set(pids[:3])), len(set(pids))), (1, 2))

    def test_who_is_stopped_in_the_middle_cleans_up_before_the_next_begins(self):
        found = self.answer(SEARCH + """
def train(config):
    try:
        for i in range(100):
            told()
    finally:
        time.sleep(0.05)
        print("cleaned up", config["i"])
        open("cleaned", "w").close()

if __name__ == "__main__":
    print(json.dumps(search(train, stop={"training_iteration": 2}, name="stopped")))
""")
        self.assertEqual(len({pid for _, pid in found}), 1)
        for i in range(3):
            self.assertEqual(self.read("results/stopped", f"trial_{i:05}", "stdout.log"), f"cleaned up {i}\n")
            self.assertTrue(os.path.exists(self.path("results/stopped", f"trial_{i:05}", "work/cleaned")))

    def test_a_driver_that_is_killed_in_between_has_lost_nothing(self):
        script = SEARCH + """
def train(config):
    time.sleep(0.02)
    told()

if __name__ == "__main__":
    if sys.argv[1:]:
        results = tune.Tuner.restore("results/killed").fit()
        print(json.dumps([[len(each.metrics_history), each.state] for each in results]))
    else:
        tune.Tuner(train, {"i": tune.uniform(0, 1)}, num_samples=60, metric="loss", mode="min", name="killed",
                   searcher="random", run_config=tune.RunConfig(verbose=0)).fit()
"""
        def has_begun():
            return os.path.exists(self.path("results/killed/trial_00020"))

        with self.start(script) as search:
            self.wait_until(has_begun, "20 trials")
            status = json.loads(self.tune("status", "results/killed", "--json").out)
            os.kill(status["driver"]["pid"], signal.SIGKILL)
            search.wait()
        again = script.replace("if sys.argv[1:]:", "if True:")
        found = self.answer(again)
        self.assertEqual(found, [[1, "TERMINATED"]] * 60)

    def test_processes_that_are_killed_take_no_result_and_leave_none_twice(self):
        found = self.answer(SEARCH + """
import random, threading

def train(config):
    with open(config["pids"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    for i in range(3):
        time.sleep(0.002)
        told(i=i)

def kill_some(pids):
    killed = set()
    while len(killed) < 4:
        time.sleep(random.uniform(0, 0.03))
        if os.path.exists(pids):
            with open(pids) as file:
                begun = [int(pid) for pid in file.read().split()]
            for pid in begun[-1:]:
                if pid not in killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)

if __name__ == "__main__":
    pids = os.path.abspath("pids")
    threading.Thread(target=kill_some, args=(pids,), daemon=True).start()
    results = tune.Tuner(train, {"pids": pids, "x": tune.uniform(0, 1)}, num_samples=60, metric="loss", mode="min", searcher="random",
                         failure_config={"max_failures": 4}, run_config=tune.RunConfig(verbose=0), name="hunted").fit()
    print(json.dumps([len(open(pids).readlines()),
                      [[each.state, [row["i"] for row in each.metrics_history]] for each in results]]))
""")
        starts, trials = found
        self.assertEqual(trials, [["TERMINATED", [0, 1, 2]]] * 60)
        self.assertGreater(starts, 60)  # some began anew


if __name__ == "__main__":
    main()
