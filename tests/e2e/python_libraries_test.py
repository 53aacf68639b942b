"""The Python package's callbacks, with the real libraries: each is paused, goes on, and is searched.

They are tried where EXAMPLES_VENV or `python3` has them; else they are skipped.
"""
import json
import os
import subprocess
import sys
import unittest

from cli_support import LIMIT_S, TUNE, Case, main

PACKAGE = os.environ["PYTHON_PACKAGE"]
VENV = os.environ["EXAMPLES_VENV"]

HEAD = """
import json, os, sys, time
import tune

def saved_last(result):
    with open(os.path.join(result.checkpoint.path, "manifest.json")) as file:
        return json.load(file)["iteration"]

def driven(train, space, metric, **fields):
    results = tune.Tuner(train, space, metric=metric, mode="min", name="libraries", num_samples=2,
                         checkpoint_config={"checkpoint_frequency": 2},
                         run_config=tune.RunConfig(verbose=0), failure_config={"max_failures": 1}, **fields).fit()
    print(json.dumps([[each.state, each.error, [row["training_iteration"] for row in each.metrics_history],
                       open(os.path.join(each.path, "stdout.log")).read(), saved_last(each)] for each in results]))

class Once:
    '''Fails when it is called for the nth time in a trial's first process.'''
    def __init__(self, n):
        self.left = n if tune.get_context().attempt == 1 else -1
    def __call__(self):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("killed on purpose")
"""
XGBOOST = HEAD + """
import numpy, xgboost
from tune.integration.xgboost import TuneReportCheckpointCallback

class Dies(xgboost.callback.TrainingCallback):
    def __init__(self):
        self.once = Once(6)
    def after_iteration(self, model, epoch, evals_log):
        self.once()

def train(config):
    x = numpy.random.RandomState(0).rand(200, 4)
    data = xgboost.DMatrix(x, x[:, 0] > 0.5)
    model, done = None, 0
    if checkpoint := tune.get_checkpoint():
        model = TuneReportCheckpointCallback.get_model(checkpoint)
        done = model.num_boosted_rounds()
        print("goes on after", done)
    xgboost.train({"eta": config["eta"], "eval_metric": "logloss", "objective": "binary:logistic", "nthread": 1}, data,
                  10 - done, evals=[(data, "eval")], xgb_model=model, verbose_eval=False,
                  callbacks=[TuneReportCheckpointCallback(), Dies()])

if __name__ == "__main__":
    print(xgboost.__version__)
    driven(train, {"eta": tune.uniform(0.1, 0.5)}, "eval-logloss")
"""
LIGHTGBM = HEAD + """
import numpy, lightgbm
from tune.integration.lightgbm import TuneReportCheckpointCallback

def train(config):
    x = numpy.random.RandomState(0).rand(200, 4)
    data = lightgbm.Dataset(x, (x[:, 0] > 0.5).astype(int), free_raw_data=False)
    model, done, once = None, 0, Once(6)
    if checkpoint := tune.get_checkpoint():
        model = TuneReportCheckpointCallback.get_model(checkpoint)
        done = model.num_trees()
        print("goes on after", done)
    def dies(env):
        once()
    dies.order = 25
    lightgbm.train({"learning_rate": config["eta"], "objective": "binary", "num_threads": 1, "verbose": -1}, data,
                   10 - done, valid_sets=[data], valid_names=["eval"], init_model=model,
                   callbacks=[TuneReportCheckpointCallback({"loss": "eval-binary_logloss"}), dies])

if __name__ == "__main__":
    print(lightgbm.__version__)
    driven(train, {"eta": tune.uniform(0.1, 0.5)}, "loss")
"""
KERAS = HEAD + """
import numpy, keras
from tune.integration.keras import TuneReportCheckpointCallback

class Dies(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.once = Once(6)
    def on_epoch_end(self, epoch, logs=None):
        self.once()

def train(config):
    x = numpy.random.RandomState(0).rand(64, 4)
    y = (x[:, :1] > 0.5).astype("float32")
    done = 0
    if checkpoint := tune.get_checkpoint():
        model = keras.models.load_model(os.path.join(checkpoint.path, "model.keras"))
        done = int(model.optimizer.iterations) // 2
        print("goes on after", done)
    else:
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
        model.compile(optimizer=keras.optimizers.SGD(config["lr"]), loss="binary_crossentropy")
    model.fit(x, y, epochs=10, initial_epoch=done, batch_size=32, verbose=0,
              callbacks=[TuneReportCheckpointCallback(), Dies()])

if __name__ == "__main__":
    print(keras.__version__)
    driven(train, {"lr": tune.uniform(0.1, 0.5)}, "loss")
"""
TRANSFORMERS = HEAD + """
import torch, transformers
from tune.integration.transformers import prepare_trainer

class Dies(transformers.TrainerCallback):
    def __init__(self):
        self.once = Once(6)
    def on_epoch_begin(self, *arguments, **more):
        self.once()

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, i):
        return {"input_ids": torch.arange(8) + i % 4, "labels": torch.tensor(i % 2)}

def train(config):
    torch.set_num_threads(1)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16))
    trainer = prepare_trainer(transformers.Trainer(
        model=model, train_dataset=Data(), eval_dataset=Data(), callbacks=[Dies()],
        args=transformers.TrainingArguments(
            output_dir="out", learning_rate=config["lr"], num_train_epochs=10, per_device_train_batch_size=16,
            eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, report_to=[], use_cpu=True,
            disable_tqdm=True)))
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with open(os.path.join(checkpoint.path, "trainer_state.json")) as file:
            print("goes on after", int(json.load(file)["epoch"]))
    trainer.train(resume_from_checkpoint=checkpoint.path if checkpoint else None)

if __name__ == "__main__":
    print(transformers.__version__)
    driven(train, {"lr": tune.loguniform(1e-4, 1e-2)}, "eval_loss")
"""
LIGHTNING = HEAD + """
import torch, lightning.pytorch as lightning
from tune.integration.pytorch_lightning import TuneReportCheckpointCallback

class Dies(lightning.Callback):
    def __init__(self):
        self.once = Once(6)
    def on_train_epoch_start(self, *arguments):
        self.once()

class Model(lightning.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr, self.layer = lr, torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return ((self.layer(batch[0]) - batch[1]) ** 2).mean()
    def validation_step(self, batch, index):
        self.log("loss", self.training_step(batch, index))
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)

def train(config):
    torch.set_num_threads(1)
    x = torch.rand(32, 4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=16)
    path = None
    if checkpoint := tune.get_checkpoint():
        path = os.path.join(checkpoint.path, "checkpoint")
        print("goes on after", torch.load(path, weights_only=False)["epoch"] + 1)
    lightning.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, callbacks=[TuneReportCheckpointCallback(["loss"]), Dies()]
                      ).fit(Model(config["lr"]), loader, loader, ckpt_path=path)

if __name__ == "__main__":
    print(lightning.__version__)
    driven(train, {"lr": tune.uniform(0.01, 0.1)}, "loss")
"""
JAX = HEAD + """
import jax, optax
import jax.numpy as jnp
from tune.integration.jax import load_pytree, save_pytree

def train(config):
    optimizer = optax.adam(config["lr"])
    weights = {"w": jnp.ones((4,), jnp.bfloat16), "b": jnp.zeros(())}
    state = {"weights": weights, "optimizer": optimizer.init(weights), "key": jax.random.key(7), "epoch": 0}
    once = Once(6) if config["dies"] else lambda: None
    if checkpoint := tune.get_checkpoint():
        state = load_pytree(checkpoint.path, state)
        print("goes on after", state["epoch"])
    def loss_of(weights, x):
        return jnp.mean((x @ weights["w"].astype(jnp.float32) + weights["b"] - x[:, 0]) ** 2)
    while state["epoch"] < 10:
        once()
        key, own = jax.random.split(state["key"])
        loss, slope = jax.value_and_grad(loss_of)(state["weights"], jax.random.normal(own, (16, 4)))
        change, after = optimizer.update(slope, state["optimizer"])
        state = {"weights": optax.apply_updates(state["weights"], change), "optimizer": after, "key": key,
                 "epoch": state["epoch"] + 1}
        tune.report({"loss": loss}, save=lambda directory: save_pytree(directory, state))

if __name__ == "__main__":
    print(jax.__version__)
    os.makedirs("one")
    tree = {"a": jnp.ones(3), "n": 3, "k": jax.random.key(1)}
    save_pytree("one", tree)
    said = [os.listdir("one")]
    for other in ({"a": jnp.ones(3), "n": 3}, {**tree, "b": 1}, {**tree, "a": jnp.ones(2)},
                  {**tree, "a": jnp.ones(3, jnp.bfloat16)}, {**tree, "k": jax.random.key(1, impl="rbg")}):
        try:
            said.append(repr(load_pytree("one", other)))
        except ValueError as error:
            said.append(str(error))
    results = tune.Tuner(train, {"lr": 0.1, "dies": tune.grid_search([False, True])}, metric="loss", mode="min",
                         checkpoint_config={"checkpoint_frequency": 2}, failure_config={"max_failures": 1},
                         run_config=tune.RunConfig(verbose=0, name="jax")).fit()
    print(json.dumps([said, [[row["loss"] for row in each.metrics_history] for each in results],
                      open(os.path.join(results[1].path, "stdout.log")).read()]))
"""


ENVIRONMENT = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE, "KERAS_BACKEND": "torch"}


def python_with(*modules):
    """An interpreter that has them all, or None."""
    for python in (os.path.join(VENV, "bin", "python3"), sys.executable):
        command = [python, "-c", "import " + ", ".join(modules)]
        try:
            if subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT).returncode == 0:
                return python
        except OSError:
            continue
    return None


SAMPLER = """
import json, math, statistics
import MODULE, tune
from tune import policy
from tune.integration.MODULE import *

SPACE = {"x": tune.uniform(-5, 5), "lr": tune.loguniform(1e-4, 1), "n": tune.randint(1, 9), "k": tune.quniform(0, 1, 0.25),
         "opt": tune.choice(["a", {"name": "b", "beta": tune.uniform(0, 1)}]), "double": tune.expr("2 * n"), "deep": {"y": 3}}

def train(config):
    loss = config["x"] ** 2 + math.log10(config["lr"] / 0.01) ** 2 + (config["n"] - 3) ** 2 / 10
    tune.report({"loss": loss, "expression": config["double"] - 2 * config["n"]})

if __name__ == "__main__":
    print(MODULE.__version__)
    results = tune.Tuner(train, SPACE, metric="loss", mode="min", num_samples=40, seed=1, max_concurrent_trials=1,
                         searcher=SEARCHER, run_config=tune.RunConfig(verbose=0)).fit()
    losses = [each.metrics["loss"] for each in results]
    print(json.dumps({"trials": len(losses), "first half": statistics.median(losses[:20]),
                      "second half": statistics.median(losses[20:]),
                      "expression": max(abs(each.metrics["expression"]) for each in results)}))
"""


class PythonLibraries(Case):
    def check(self, script, *modules):
        """A trial that dies after some iterations goes on from a checkpoint, and each is there once."""
        python = python_with(*modules)
        if python is None:
            raise unittest.SkipTest(f"no Python here has {' and '.join(modules)}")
        for state, error, iterations, out, saved in self.answer(script, python, modules[0]):
            self.assertEqual((state, iterations, saved), ("TERMINATED", list(range(1, 11)), 10), error)
            self.assertRegex(out, "goes on after [456]")

    def check_end(self, script, *modules):
        """What a trial has come to at its end is saved, though the search wants no checkpoint."""
        python = python_with(*modules)
        if python is None:
            raise unittest.SkipTest(f"no Python here has {' and '.join(modules)}")
        script = script.replace('"checkpoint_frequency": 2', "").replace("Once(6)", "Once(60)")
        for state, error, iterations, _, saved in self.answer(script, python, modules[0]):
            self.assertEqual((state, iterations[-1]), ("TERMINATED", saved), error)

    def answer(self, script, python, name):
        """What it prints last, as JSON."""
        self.write("search.py", script)
        done = subprocess.run([python, "search.py"], cwd=self.dir, capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(f"{name} {done.stdout.splitlines()[0]}", file=sys.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def sampler(self, module, searcher):
        """A library's sampler comes nearer to the optimum than drawing does, in a mixed space."""
        python = python_with(module)
        if python is None:
            raise unittest.SkipTest(f"no Python here has {module}")
        found = self.answer(SAMPLER.replace("SEARCHER", searcher).replace("MODULE", module), python, module)
        self.assertEqual(found["trials"], 40)
        self.assertLess(found["second half"], found["first half"])
        self.assertEqual(found["expression"], 0)

    def test_optunas_sampler_is_a_searcher(self):
        self.sampler("optuna", "OptunaSearch(n_startup_trials=8)")

    def test_nevergrads_optimizer_is_a_searcher(self):
        self.sampler("nevergrad", "NevergradSearch(optimizer='NGOpt')")

    def test_jax_goes_on_bit_for_bit_and_names_the_leaf_that_differs(self):
        python = python_with("jax", "optax")
        if python is None:
            raise unittest.SkipTest("no Python here has jax and optax")
        said, losses, out = self.answer(JAX, python, "jax")
        self.assertEqual(said[0], ["pytree.npz"])
        self.assertEqual(said[1:], [
            "the checkpoint has a leaf ['k'], which is not expected",
            "the checkpoint has no leaf ['b']",
            "the leaf ['a'] has shape [3] in the checkpoint, and [2] was expected",
            "the leaf ['a'] has dtype float32 in the checkpoint, and bfloat16 was expected",
            "the leaf ['k'] has key threefry2x32 in the checkpoint, and rbg was expected"])
        self.assertEqual(len(losses[0]), 10)
        self.assertEqual(losses[0], losses[1])
        self.assertIn("goes on after 4", out)

    def test_xgboost(self):
        self.check(XGBOOST, "xgboost", "numpy")

    def test_lightgbm(self):
        self.check(LIGHTGBM, "lightgbm", "numpy")

    def test_keras(self):
        self.check(KERAS, "keras", "torch")

    def test_what_boosters_and_networks_have_come_to_is_saved_at_the_end(self):
        for script, *modules in ((XGBOOST, "xgboost", "numpy"), (LIGHTGBM, "lightgbm", "numpy"),
                                 (KERAS, "keras", "torch"), (LIGHTNING, "lightning", "torch")):
            with self.subTest(modules[0]):
                self.setUp()
                self.check_end(script, *modules)

    def test_transformers(self):
        self.check(TRANSFORMERS, "transformers", "torch", "accelerate")

    def test_lightning(self):
        self.check(LIGHTNING, "lightning", "torch")


if __name__ == "__main__":
    main()
