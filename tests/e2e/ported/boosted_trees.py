"""XGBoost with early stopping of trials; the best model is read back from its checkpoint."""
import os

import numpy as np
import xgboost as xgb
from ray import tune
from ray.tune.integration.xgboost import TuneReportCheckpointCallback
from ray.tune.schedulers import ASHAScheduler


def make_data(seed):
    numbers = np.random.RandomState(seed)
    x = numbers.rand(200, 4)
    return x, (x[:, 0] + x[:, 1] > 1).astype(int)


def train_trees(config):
    train, test = (xgb.DMatrix(x, label=y) for x, y in (make_data(0), make_data(1)))
    xgb.train(
        config,
        train,
        num_boost_round=10,
        evals=[(test, "eval")],
        verbose_eval=False,
        callbacks=[TuneReportCheckpointCallback({"loss": "eval-logloss", "error": "eval-error"})],
    )



def tune_trees():
    search_space = {
        "objective": "binary:logistic",
        "eval_metric": ["logloss", "error"],
        "nthread": 1,
        "max_depth": tune.randint(1, 5),
        "subsample": tune.uniform(0.5, 1.0),
        "eta": tune.loguniform(1e-2, 5e-1),
    }
    tuner = tune.Tuner(
        train_trees,
        param_space=search_space,
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=4,
            scheduler=ASHAScheduler(max_t=20, grace_period=5, reduction_factor=2),
        ),
        run_config=tune.RunConfig(storage_path=os.path.abspath("ray_results"), name="trees"),
    )
    return tuner.fit()


if __name__ == "__main__":
    results = tune_trees()
    frame = results.get_dataframe()
    finished = [each for each in results if each.checkpoint]
    print(len(frame), "trials,", results.num_errors, "errors")
    print("columns:", {"loss", "error", "config/eta", "training_iteration"} <= set(frame.columns))
    model = TuneReportCheckpointCallback.get_model(finished[0].checkpoint)
    print("finished:", len(finished) > 0, "rounds of a model:", model.num_boosted_rounds())
    print("best error below 0.3:", results.get_best_result("error", "min").metrics["error"] < 0.3)
