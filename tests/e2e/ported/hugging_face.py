"""Hugging Face's Trainer with a tiny BERT that is made from a config, and reported epoch by epoch."""
import os

import torch
import transformers
from ray import tune
from ray.tune.schedulers import ASHAScheduler


class Parity(torch.utils.data.Dataset):
    """Whether a sequence begins with an odd token."""

    def __len__(self):
        return 32

    def __getitem__(self, i):
        return {"input_ids": (torch.arange(6) + i) % 16, "labels": torch.tensor(i % 2)}


class ReportEpochs(transformers.TrainerCallback):
    def __init__(self):
        self.metrics = {}

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        self.metrics = {**metrics, "step": state.global_step}

    def on_save(self, args, state, control, **kwargs):
        path = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        tune.report(self.metrics, checkpoint=tune.Checkpoint.from_directory(path))


def train_bert(config):
    torch.set_num_threads(1)
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=16,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
    )
    arguments = transformers.TrainingArguments(
        output_dir="model",
        learning_rate=config["learning_rate"],
        per_device_train_batch_size=config["batch_size"],
        num_train_epochs=4,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=Parity(),
        eval_dataset=Parity(),
        callbacks=[ReportEpochs()],
    )
    checkpoint = tune.get_checkpoint()
    trainer.train(resume_from_checkpoint=checkpoint.path if checkpoint else None)


if __name__ == "__main__":
    tuner = tune.Tuner(
        tune.with_resources(train_bert, {"cpu": 1}),
        param_space={
            "learning_rate": tune.loguniform(1e-4, 1e-2),
            "batch_size": tune.choice([8, 16]),
        },
        tune_config=tune.TuneConfig(
            metric="eval_loss",
            mode="min",
            num_samples=2,
            scheduler=ASHAScheduler(max_t=4, grace_period=1, reduction_factor=2),
        ),
        run_config=tune.RunConfig(
            name="bert",
            storage_path=os.path.abspath("ray_results"),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=1),
        ),
    )
    results = tuner.fit()
    best = results.get_best_result()
    model = transformers.BertForSequenceClassification.from_pretrained(best.checkpoint.path)
    print(len(results), "trials,", results.num_errors, "errors")
    print("loss below 1:", best.metrics["eval_loss"] < 1, "epoch:", best.metrics["epoch"])
    print("labels of the model:", model.config.num_labels)
