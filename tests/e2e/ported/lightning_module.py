"""A Lightning module whose learning rate is steered by population-based training."""
import os

import lightning.pytorch as pl
import torch
from ray import tune
from ray.tune.integration.pytorch_lightning import TuneReportCheckpointCallback
from ray.tune.schedulers import PopulationBasedTraining


class Regressor(pl.LightningModule):
    def __init__(self, config):
        super().__init__()
        self.lr = config["lr"]
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, config["hidden"]), torch.nn.ReLU(), torch.nn.Linear(config["hidden"], 1)
        )

    def loss(self, batch):
        x, y = batch
        return torch.nn.functional.mse_loss(self.net(x), y)

    def training_step(self, batch, batch_idx):
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("ptl/val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


def train_regressor(config, num_epochs=6):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.rand(64, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    trainer = pl.Trainer(
        max_epochs=num_epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            TuneReportCheckpointCallback(
                {"loss": "ptl/val_loss"}, filename="trainer.ckpt", on="validation_end"
            )
        ],
    )
    ckpt_path = None
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        ckpt_path = os.path.join(checkpoint.path, "trainer.ckpt")
    trainer.fit(Regressor(config), loader, loader, ckpt_path=ckpt_path)


def tune_regressor():
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        perturbation_interval=2,
        hyperparam_mutations={"lr": tune.loguniform(1e-4, 1e-1)},
    )
    tuner = tune.Tuner(
        tune.with_resources(
            tune.with_parameters(train_regressor, num_epochs=6), resources={"cpu": 1, "gpu": 0}
        ),
        param_space={"lr": tune.loguniform(1e-4, 1e-1), "hidden": 8},
        tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=3, scheduler=scheduler),
        run_config=tune.RunConfig(
            name="regressor",
            storage_path=os.path.abspath("ray_results"),
            checkpoint_config=tune.CheckpointConfig(
                num_to_keep=3, checkpoint_score_attribute="loss", checkpoint_score_order="min"
            ),
        ),
    )
    return tuner.fit()


if __name__ == "__main__":
    results = tune_regressor()
    best = results.get_best_result()
    saved = torch.load(os.path.join(best.checkpoint.path, "trainer.ckpt"), weights_only=False)
    model = Regressor(best.config)
    model.load_state_dict(saved["state_dict"])
    print(len(results), "trials,", results.num_errors, "errors")
    print("iterations:", best.metrics["training_iteration"], "epochs:", saved["epoch"] + 1)
    print("loss below 2:", best.metrics["loss"] < 2)
