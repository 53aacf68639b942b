"""Names and modules of Ray Tune that have no counterpart here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

_TUNER = "write tune.Tuner(train, param_space=..., tune_config=tune.TuneConfig(...)).fit()"
_PRINTS = "the driver shows how it is doing; tune.RunConfig(verbose=0) silences it"
_ITSELF = "give the function or the class itself to tune.Tuner"
#: Of Ray Train, whose workers are started by a trainer.
WORKERS = (
    "write tune.Tuner(train, ..., num_workers=2, resources_per_worker={'cpu': 1}); "
    "docs/workers.md shows how"
)
REMOTE = "write remote={'path': 's3:bucket/sweeps'}, which has a copy there; docs/remote.md"
_LATEST = "report it: tune.report(metrics, checkpoint=tune.Checkpoint.from_directory(path))"

#: What to do instead.
INSTEAD = {
    "CLIReporter": _PRINTS,
    "Experiment": _TUNER,
    "ExperimentAnalysis": "look at tune.Tuner.restore(path).get_results()",
    "JupyterNotebookReporter": _PRINTS,
    "ProgressReporter": _PRINTS,
    "ResumeConfig": "say tune.Tuner.restore(path, resume_errored=True)",
    **{
        name: WORKERS
        for name in (
            *("DataParallelTrainer", "HorovodTrainer", "JaxTrainer", "LightGBMTrainer"),
            *("LightningTrainer", "ScalingConfig", "TensorflowTrainer", "TorchConfig"),
            *("TorchTrainer", "TransformersTrainer", "XGBoostTrainer"),
        )
    },
    "SyncConfig": REMOTE,
    "checkpoint_dir": _LATEST,
    "create_scheduler": "name it: tune.TuneConfig(scheduler='asha')",
    "create_searcher": "name it: tune.TuneConfig(search_alg='tpe')",
    "get_dataset_shard": (
        "read the part that tune.get_context().get_world_rank() and get_world_size() say"
    ),
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


#: The same for names of modules.
_POLICY = "write a class of tune.policy; docs/policies.md shows how"
INSTEAD_IN = {
    "schedulers": {
        "TrialScheduler": _POLICY,
        "create_scheduler": INSTEAD["create_scheduler"],
    },
    "search": {
        "SearchAlgorithm": _POLICY,
        "SearchGenerator": _POLICY,
        "Searcher": _POLICY,
        "create_searcher": INSTEAD["create_searcher"],
        "sample_from": "write tune.expr('2 * hidden')",
    },
    "torch": {
        "TorchConfig": WORKERS,
        "TorchTrainer": WORKERS,
        "get_device": "write torch.device('cuda', tune.get_context().get_local_rank())",
        "get_devices": "write torch.device('cuda', tune.get_context().get_local_rank())",
        "prepare_data_loader": "give the DataLoader a torch.utils.data.DistributedSampler",
        "prepare_model": (
            "write torch.nn.parallel.DistributedDataParallel(model) after "
            "torch.distributed.init_process_group(); docs/workers.md shows how"
        ),
    },
}


class Missing:
    """A name that can be imported, and says what to do instead once it is used."""

    def __init__(self, name: str, module: str = "") -> None:
        instead = INSTEAD_IN[module][name] if module else INSTEAD[name]
        place = f"tune.{module}." if module else "tune."
        self._sentence: str = f"there is no {place}{name}: {instead}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(self._sentence)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(name if name.startswith("__") else self._sentence)

    def __mro_entries__(self, _: tuple[Any, ...]) -> NoReturn:
        raise TypeError(self._sentence)


_LOGS = (
    "result.json, progress.csv and TensorBoard's files are written anyway; a tune.Callback is told "
    "of each result"
)
_OPTUNA = "write from tune.search.optuna import OptunaSearch"
_TPE = "name the driver's own: tune.TuneConfig(search_alg='tpe')"
_GP = "name the driver's own: tune.TuneConfig(search_alg='gp')"
_HIGHER = "its names stand one level higher: write from tune.{} import ..."
_TRAINABLE = "write tune.Trainable, tune.with_parameters or tune.with_resources"
_PLAIN = "write import tune; what is public stands there"

#: Modules of Ray's, and what to do instead. What is below one of them is meant, too.
MODULES = {
    "air": f"what is public stands in tune itself; for several workers {WORKERS}",
    "analysis": INSTEAD["ExperimentAnalysis"],
    "automl": _TUNER,
    "cli": "the program tune has commands: tune ls, tune best, tune status",
    "context": "write tune.get_context()",
    "error": "write tune.TuneError",
    "examples": "docs/python.md has programs to begin with",
    "execution": "a search runs in a program of its own; docs/python.md says what it can be told",
    "experiment": _TUNER,
    "experimental": _PLAIN,
    "impl": _PLAIN,
    "integration.aim": _LOGS,
    "integration.comet": _LOGS,
    "integration.docker": REMOTE,
    "integration.horovod": WORKERS,
    "integration.kubernetes": REMOTE,
    "integration.mxnet": "call tune.report(metrics) from a callback of the library",
    "integration.ray_train": "call tune.report in the function; tune.integration has callbacks",
    "integration.tensorflow": "write from tune.integration.keras import ...",
    "integration.torch": WORKERS,
    "logger": _LOGS,
    "progress_reporter": _PRINTS,
    "registry": _ITSELF,
    "resources": "write tune.with_resources(train, {'cpu': 2})",
    "result": "metrics have their names in result.metrics",
    "result_grid": "write tune.ResultGrid",
    "sample": "write tune.uniform and the others",
    "search.ax": _GP,
    "search.basic_variant": _HIGHER.format("search"),
    "search.bayesopt": _GP,
    "search.bohb": "name the driver's own: tune.TuneConfig(search_alg='bohb', scheduler='bohb')",
    "search.concurrency_limiter": _HIGHER.format("search"),
    "search.flaml": _TPE,
    "search.hebo": _GP,
    "search.hyperopt": _TPE,
    "search.nevergrad": "write from tune.integration.nevergrad import NevergradSearch",
    "search.repeater": _HIGHER.format("search"),
    "search.sample": "write tune.uniform and the others",
    "search.search_algorithm": "write a class of tune.policy.Searcher",
    "search.searcher": "write a class of tune.policy.Searcher",
    "search.skopt": _GP,
    "search.variant_generator": "a trial's config is drawn by the driver",
    "search.zoopt": "name the driver's own: tune.TuneConfig(search_alg='cma_es')",
    "suggest": "it is called tune.search, as in Ray since 2.0",
    "syncer": REMOTE,
    "train": f"what is public stands in tune itself; for several workers {WORKERS}",
    "tune": _TUNER,
    "tune_config": "write tune.TuneConfig",
    "utils": "wait_for_gpu and its like are not needed; what is public stands in tune itself",
    **{
        f"schedulers.{name}": _HIGHER.format("schedulers")
        for name in (
            *("async_hyperband", "hb_bohb", "hyperband", "median_stopping_rule", "pb2", "pbt"),
            *("resource_changing_scheduler", "trial_scheduler", "util"),
        )
    },
    **{
        f"stopper.{name}": _HIGHER.format("stopper")
        for name in (
            *("experiment_plateau", "function_stopper", "maximum_iteration", "noop", "stopper"),
            *("timeout", "trial_plateau"),
        )
    },
    **{
        f"trainable.{name}": _TRAINABLE
        for name in ("function_trainable", "trainable", "trainable_fn_utils", "util")
    },
}


class Finder:
    """Asked last, when there is no such module."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
        """ModuleNotFoundError that says what to do instead, for a module of `MODULES`."""
        own, _, module = name.partition(".")
        part = module
        while own == "tune" and part:
            if part in MODULES:
                # Without its name, by which `from tune import ...` would swallow it.
                raise ModuleNotFoundError(f"there is no {name}: {MODULES[part]}")
            part = part.rpartition(".")[0]

    @classmethod
    def install(cls) -> None:
        if not any(isinstance(each, cls) for each in sys.meta_path):
            sys.meta_path.append(cls())
