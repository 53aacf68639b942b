"""A webhook, as Slack, Mattermost and Discord's ``/slack`` have it: words on what matters."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from typing import Any

from tune.callback import Callback, Trial


class WebhookCallback(Callback):
    """Posts ``{"text": ...}`` to `url` when a trial has failed, when one has ended that is the
    best in `metric` so far, and at the end. A post that fails is given up after `timeout_s`, and
    said."""

    def __init__(
        self, url: str, *, metric: str, mode: str = "min", timeout_s: float = 10.0
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        self._url, self._metric, self._timeout_s = url, metric, timeout_s
        self._sign = 1.0 if mode == "min" else -1.0
        self._best: float | None = None

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        value = trial.last_result.get(self._metric)
        if not isinstance(value, (int, float)) or value != value:
            return
        if self._best is None or self._sign * value < self._sign * self._best:
            self._best = value
            self._post(f"{trial} is the best so far: {self._metric} {value:.6g}, {trial.config}")

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._post(f"{trial} has failed: {trial.error}")

    def on_experiment_end(self, trials: Sequence[Trial]) -> None:
        self._post(f"The search is finished: {len(trials)} trials, best {self._best}")

    def _post(self, text: str) -> None:
        request = urllib.request.Request(
            self._url,
            data=json.dumps({"text": text}).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=self._timeout_s).close()
        except OSError as error:
            print(f"tune: nothing was posted to the webhook: {error}", flush=True)

    def get_state(self) -> Any:
        return self._best

    def set_state(self, state: Any) -> None:
        self._best = state
