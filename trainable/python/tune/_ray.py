"""Names of Ray Tune that have no counterpart here."""

from __future__ import annotations

from typing import Any, NoReturn

_TUNER = "write tune.Tuner(train, param_space=..., tune_config=tune.TuneConfig(...)).fit()"
_PRINTS = "the driver shows how it is doing; tune.RunConfig(verbose=0) silences it"
_ITSELF = "give the function or the class itself to tune.Tuner"
_LATEST = "report it: tune.report(metrics, checkpoint=tune.Checkpoint.from_directory(path))"

#: What to do instead.
INSTEAD = {
    "CLIReporter": _PRINTS,
    "Experiment": _TUNER,
    "ExperimentAnalysis": "look at tune.Tuner.restore(path).get_results()",
    "JupyterNotebookReporter": _PRINTS,
    "ProgressReporter": _PRINTS,
    "ResumeConfig": "say tune.Tuner.restore(path, resume_errored=True)",
    "SyncConfig": "a search runs on one machine, and there is nothing to synchronise",
    "checkpoint_dir": _LATEST,
    "create_scheduler": "name it: tune.TuneConfig(scheduler='asha')",
    "create_searcher": "name it: tune.TuneConfig(search_alg='tpe')",
    "get_trial_dir": "ask tune.get_context().get_trial_dir()",
    "get_trial_id": "ask tune.get_context().get_trial_id()",
    "get_trial_name": "ask tune.get_context().get_trial_name()",
    "get_trial_resources": "ask tune.get_context().get_trial_resources()",
    "is_session_enabled": "leave it out: without a driver, tune.report prints",
    "register_env": _ITSELF,
    "register_trainable": _ITSELF,
    "run": _TUNER,
    "run_experiments": _TUNER,
    "save_checkpoint": _LATEST,
    "wait_for_gpu": "leave it out: a GPU is another trial's when the process that had it has ended",
}


class Missing:
    """A name that can be imported, and says what to do instead once it is used."""

    def __init__(self, name: str) -> None:
        self._sentence = f"there is no tune.{name}: {INSTEAD[name]}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(self._sentence)

    def __mro_entries__(self, _: tuple[Any, ...]) -> NoReturn:
        raise TypeError(self._sentence)
