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

    def seen(self, outcome, trial, *hooks):
        """[hook, what it was told] of a trial, in order; only of these hooks, if any are given."""
        return [[entry[0], *entry[2:]] for entry in outcome["seen"]
                if len(entry) == 3 and entry[1] == trial and (not hooks or entry[0] in hooks)]

    def iterations_in_log(self, trial):
        log = self.folder / "library" / f"trial_{trial:05}" / "result.json"
        return [json.loads(line)["training_iteration"] for line in log.read_text().splitlines()]


class Results(Library):
    def test_best_result_depends_on_the_scope_in_both_modes(self):
        curves = {
            "last": [0] * 11 + [5],
            "all": [20] + [0] * 11,
            "avg": [18] * 2 + [0] * 10,
            "last-5-avg": [0] * 7 + [3] * 4 + [0],
            "last-10-avg": [0] * 2 + [5] * 5 + [0] * 5,
        }
        upwards = [scores(*curve) for curve in curves.values()]
        downwards = [scores(*(-value for value in curve)) for curve in curves.values()]
        outcome = self.fit_each("plain", *upwards, *downwards)
        expected = {scope: f"trial_{i:05}" for i, scope in enumerate(curves)}
        self.assertEqual(outcome["best"]["max"], expected)
        expected = {scope: f"trial_{i + 5:05}" for i, scope in enumerate(curves)}
        self.assertEqual(outcome["best"]["min"], expected)

    def test_a_trial_has_its_config_last_metrics_and_directory(self):
        outcome = self.fit_each("plain", scores(1, 2, 3))
        trial = outcome["trials"][0]
        self.assertEqual(trial["trial_id"], "trial_00000")
        self.assertEqual(trial["state"], "TERMINATED")
        self.assertEqual(trial["config"], {"case": {"scores": [1, 2, 3]}})
        self.assertEqual((trial["metrics"]["score"], trial["metrics"]["training_iteration"]), (3, 3))
        self.assertEqual(trial["path"], str(self.folder / "library" / "trial_00000"))
        self.assertEqual((trial["checkpoint"], trial["best_checkpoints"]), (None, []))
        self.assertEqual((trial["error"], outcome["errors"]), ("", []))

    def test_best_checkpoints_come_best_first_and_the_latest_is_the_checkpoint(self):
        trial = self.fit_each("checkpoints", scores(1, 9, 3, 7, 2))["trials"][0]
        directory = pathlib.Path(trial["path"])
        self.assertEqual([[iteration, score] for _, iteration, score in trial["best_checkpoints"]],
                         [[2, 9.0], [4, 7.0], [5, 2.0]])
        self.assertEqual(trial["checkpoint"], trial["best_checkpoints"][2][0])
        kept = {pathlib.Path(path) for path, _, _ in trial["best_checkpoints"]}
        self.assertEqual(set(directory.glob("checkpoint_*")), kept)
        self.assertEqual([(path / "done").read_text() for path in sorted(kept)], ["2", "4", "5"])

    def test_errors_name_the_failed_trials_only(self):
        outcome = self.fit_each("plain", scores(1), {**scores(2, 3), "fail_at": 2}, scores(4))
        self.assertEqual(outcome["errors"], ["trial_00001"])
        self.assertEqual([trial["state"] for trial in outcome["trials"]],
                         ["TERMINATED", "ERROR", "TERMINATED"])
        failed = outcome["trials"][1]
        self.assertIn("told to fail at 2", failed["error"])
        self.assertEqual(failed["metrics"]["score"], 2)


class Programs(Library):
    def test_a_function_goes_on_from_the_checkpoint_it_reported_last(self):
        outcome = self.fit("function", {"iterations": 6})
        trial = outcome["trials"][0]
        self.assertEqual(trial["state"], "TERMINATED")
        self.assertEqual((trial["metrics"]["score"], trial["metrics"]["started_at"]), (6, 3))
        self.assertEqual(self.iterations_in_log(0), [1, 2, 3, 4, 5, 6])
        self.assertEqual((pathlib.Path(trial["checkpoint"]) / "done").read_text(), "6")
        self.assertEqual(len(trial["best_checkpoints"]), 6)
        self.assertIn(["on_trial_restore", 3], self.seen(outcome, 0))

    def test_a_function_that_does_not_save_is_told_that_a_checkpoint_frequency_has_no_effect(self):
        outcome = self.fit("function_frequency", {"iterations": 2})
        notices = [entry[1] for entry in outcome["seen"] if entry[0] == "on_notice"]
        self.assertEqual(len([each for each in notices if each.startswith(
            "checkpoint_frequency and checkpoint_at_end have no effect where report()")]), 1, notices)

    def test_another_program_is_run_as_it_is(self):
        space = {"hidden": 16, "learning_rate": {"grid_search": [0.1, 0.2]}}
        outcome = self.fit("program", space, PROGRAM=os.environ["DIGITS"])
        self.assertEqual([trial["metrics"]["epoch"] for trial in outcome["trials"]], [3, 3])

    def test_the_single_file_example_finds_the_curve(self):
        done = subprocess.run([os.environ["SINGLE_FILE"], str(self.folder)], text=True,
                              stdout=subprocess.PIPE, check=True, timeout=300)
        *ended, best, kept = done.stdout.splitlines()
        self.assertEqual(len(ended), 12)
        metrics = json.loads(best.split(" gave ")[1])
        # Half the square of the noise's amplitude, 0.05, is what no fit can explain.
        self.assertLess(metrics["loss"], 1.1 * 0.5 * 0.05**2)
        self.assertAlmostEqual(metrics["a"], 2.5, delta=0.1)
        self.assertAlmostEqual(metrics["b"], 1.3, delta=0.1)
        self.assertEqual(os.path.getsize(kept.removeprefix("kept: ") + "/fit"), 32)


class Runs(Library):
    def test_a_broken_config_is_refused_with_every_place_and_nothing_is_made(self):
        outcome = self.fit("broken", {"x": {"unifrom": [0, 1]}}, exit_code=2)
        for place in ("/num_samples", "/searcher/type", "/param_space/x"):
            self.assertIn(place, outcome["refused"])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_second_run_in_the_same_directory_is_refused(self):
        self.fit_each("plain", scores(1, 2))
        before = (self.folder / "library" / "trial_00000" / "result.json").read_text()
        outcome = self.fit_each("plain", scores(3), exit_code=2)
        self.assertIn(str(self.folder / "library"), outcome["refused"])
        after = (self.folder / "library" / "trial_00000" / "result.json").read_text()
        self.assertEqual(before, after)

    def test_a_restored_experiment_goes_on_where_the_interrupt_was(self):
        cases = [scores(*range(1, 7)), scores(*range(11, 17)), scores(*range(21, 27))]
        first = self.fit_each("interrupted", *cases)
        self.assertNotEqual({trial["state"] for trial in first["trials"]}, {"TERMINATED"})
        told = [self.seen(first, trial, "on_trial_result") for trial in range(3)]

        second = self.fit("restored")
        self.assertEqual([trial["metrics"]["score"] for trial in second["trials"]], [6, 16, 26])
        self.assertEqual({trial["state"] for trial in second["trials"]}, {"TERMINATED"})
        self.assertEqual([entry for entry in second["seen"] if entry[0] == "setup"][0][:3],
                         ["setup", "library", True])
        for trial in range(3):
            replayed = self.seen(second, trial, "on_trial_replay")
            self.assertEqual([entry[1] for entry in replayed], [entry[1] for entry in told[trial]])
            # Nothing was lost and nothing done twice: an interrupt saves first.
            new = self.seen(second, trial, "on_trial_result")
            self.assertEqual([entry[1] for entry in told[trial] + new], [1, 2, 3, 4, 5, 6])
            self.assertEqual(self.iterations_in_log(trial), [1, 2, 3, 4, 5, 6])

    def test_a_restored_experiment_takes_up_its_errored_trials_if_asked_to(self):
        first = self.fit_each("plain", scores(1), {**scores(2, 3), "fail_at": 2})
        self.assertEqual([trial["state"] for trial in first["trials"]], ["TERMINATED", "ERROR"])
        second = self.fit("errored")
        self.assertEqual([trial["state"] for trial in second["trials"]], ["TERMINATED"] * 2)
        self.assertEqual(second["trials"][1]["metrics"]["score"], 3)
        self.assertEqual(self.seen(second, 0, "on_trial_start"), [])
        self.assertEqual(self.iterations_in_log(1), [1, 2])

    def test_a_change_that_cannot_be_is_refused_and_nothing_is_touched(self):
        self.fit_each("plain", scores(1))
        before = (self.folder / "library" / "experiment.json").read_text()
        outcome = self.fit("reseeded", exit_code=2)
        self.assertIn("/seed: the seed of a started experiment cannot change", outcome["refused"])
        self.assertEqual((self.folder / "library" / "experiment.json").read_text(), before)
        self.assertEqual(outcome["seen"], [])

    def test_reused_processes_train_one_trial_after_the_other(self):
        outcome = self.fit_each("reuse", scores(1, 2), scores(3), scores(4, 5))
        metrics = [trial["metrics"] for trial in outcome["trials"]]
        self.assertEqual([m["score"] for m in metrics], [2, 3, 5])
        self.assertEqual([m["resets"] for m in metrics], [0, 1, 2])
        self.assertEqual(len({m["pid"] for m in metrics}), 1)
        self.assertEqual([self.iterations_in_log(trial) for trial in range(3)], [[1, 2], [1], [1, 2]])


class Hooks(Library):
    def setUp(self):
        super().setUp()
        if not hasattr(Hooks, "outcome"):  # retries wait a second or two: one run for all tests
            Hooks.outcome = self.fit_each(
                "hooks", scores(1, 2, 3), {**scores(1, 2, 3), "fail_at": 3},
                {**scores(1, 2, 3), "fail_at": 2, "fail_always": True})

    def test_a_trial_that_ends_well_is_told_in_order(self):
        # A checkpoint is told when its record is on disk, which may be later.
        order = [entry for entry in self.seen(self.outcome, 0) if entry[0] != "on_checkpoint"]
        self.assertEqual(order, [["on_trial_start", None], ["on_trial_result", 1],
                                 ["on_trial_result", 2], ["on_trial_save", None],
                                 ["on_trial_result", 3], ["on_trial_complete", None]])
        saves = self.seen(self.outcome, 0, "on_trial_save", "on_checkpoint")
        self.assertEqual(saves, [["on_trial_save", None], ["on_checkpoint", 2]])

    def test_a_retry_is_told_with_what_it_starts_from(self):
        order = [entry for entry in self.seen(self.outcome, 1) if entry[0] != "on_checkpoint"]
        self.assertEqual(order, [["on_trial_start", None], ["on_trial_result", 1],
                                 ["on_trial_result", 2], ["on_trial_save", None],
                                 ["on_trial_recover", None], ["on_trial_start", None],
                                 ["on_trial_restore", 2], ["on_trial_result", 3],
                                 ["on_trial_complete", None]])

    def test_a_failure_for_good_is_told_once_and_a_retry_from_scratch_says_so(self):
        self.assertEqual(self.seen(self.outcome, 2),
                         [["on_trial_start", None], ["on_trial_result", 1],
                          ["on_trial_recover", None], ["on_trial_start", None],
                          ["on_trial_restore", 0], ["on_trial_result", 1],
                          ["on_trial_error", None]])
        self.assertEqual(self.outcome["errors"], ["trial_00002"])

    def test_the_run_begins_with_setup_and_ends_with_the_end(self):
        seen = self.outcome["seen"]
        self.assertEqual(seen[0], ["setup", "library", False, 0])
        self.assertEqual(seen[-1], ["on_experiment_end"])
        names = [entry[0] for entry in seen]
        self.assertEqual((names.count("setup"), names.count("on_experiment_end")), (1, 1))

    def test_every_turn_begins_before_it_ends(self):
        turns = [entry[0] for entry in self.outcome["seen"] if entry[0].startswith("on_step")]
        self.assertGreater(len(turns), 0)
        self.assertEqual(turns, ["on_step_begin", "on_step_end"] * (len(turns) // 2))


class Gpus(Library):
    """Two gpus are given and each trial takes half of one, whatever this machine has."""

    def devices(self, visible):
        outcome = self.fit_each("gpus", *[scores(1, 2)] * 4, CUDA_VISIBLE_DEVICES=visible)
        return sorted(trial["metrics"]["devices"] for trial in outcome["trials"])

    def test_two_trials_share_each_gpu_by_the_name_that_it_was_found_under(self):
        self.assertEqual(self.devices("3,GPU-5"), ["3", "3", "GPU-5", "GPU-5"])

    def test_gpus_that_were_not_found_have_their_numbers_for_names(self):
        self.assertEqual(self.devices(""), ["0", "0", "1", "1"])

    def test_more_gpus_than_were_found_are_refused_with_who_says_so(self):
        outcome = self.fit_each("gpus", scores(1), exit_code=2, CUDA_VISIBLE_DEVICES="7")
        self.assertEqual(outcome["refused"], "/resources/gpu: 2 gpus are given, but "
                                             "CUDA_VISIBLE_DEVICES='7' has only 1")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
