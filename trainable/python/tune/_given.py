"""What a trainable is given beside its config: arguments, and what its trials take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Bound:
    """A function, or the setup of a class, with more arguments than its config; pickled as a
    whole."""

    def __init__(self, function: Callable[..., object], arguments: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.__name__ = getattr(function, "__name__", "train")

    def __call__(self, config: dict[str, Any]) -> object:
        return self.function(config, **self.arguments)

    @property
    def __wrapped_trainable__(self) -> Any:
        """What a trial's process runs."""
        kind, arguments = self.function, self.arguments
        if not isinstance(kind, type):
            return self

        def setup(trainable: Any, config: dict[str, Any]) -> None:
            kind.setup(trainable, config, **arguments)  # type: ignore[attr-defined]

        return type(kind.__name__, (kind,), {"setup": setup})


class WithResources:
    """A trainable, and what each of its trials takes."""

    def __init__(self, trainable: Any, resources: dict[str, float]) -> None:
        self.trainable = trainable
        self.resources = resources


def with_parameters(trainable: Any, **arguments: Any) -> Any:
    """`trainable` with these arguments beside its config, such as data: a function gets them when
    it is called, a class in ``setup``. They are pickled."""
    if isinstance(trainable, WithResources):
        return WithResources(with_parameters(trainable.trainable, **arguments), trainable.resources)
    return Bound(trainable, arguments)


def with_resources(trainable: Any, resources: dict[str, float]) -> Any:
    """`trainable`, each trial of which takes these: ``{"cpu": 2, "gpu": 0.5}``.

    TypeError: `resources` is no dict, as where they depend on the config.
    """
    return WithResources(trainable, amounts(resources))


class PlacementGroupFactory(dict[str, float]):
    """What these bundles are together: all that a trial has is on one machine, which is as packed
    as can be, and as spread as it can be there.

    TypeError: the strategy is one that nothing here can keep.
    """

    def __init__(
        self, bundles: list[dict[str, float]], strategy: str | None = None, **_: Any
    ) -> None:
        super().__init__()
        for bundle in bundles:
            for name, amount in amounts(bundle).items():
                self[name] = self.get(name, 0) + amount
        if strategy not in (None, "PACK", "STRICT_PACK", "SPREAD"):
            raise TypeError(
                f"strategy={strategy!r} cannot be kept: all that a trial has is on one machine"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return PlacementGroupFactory, ([dict(self)],)


_NAMES: dict[str, str] = {"CPU": "cpu", "GPU": "gpu"}


def amounts(resources: Any) -> dict[str, float]:
    """Resources by the driver's names, ``cpu`` and ``gpu``. TypeError: they are no dict."""
    if isinstance(resources, PlacementGroupFactory):
        return resources
    if not isinstance(resources, dict):
        raise TypeError(
            "the resources of a trial are a dict, such as {'cpu': 2, 'gpu': 0.5}, the same for all "
            f"trials, and no {type(resources).__name__}"
        )
    named: dict[str, float] = resources
    return {_NAMES.get(name, name): amount for name, amount in named.items()}


def take_resources(said: dict[str, Any]) -> None:
    """Puts them into the fields of a spec. TypeError: they are no dict."""
    for field in ("resources_per_trial", "resources_per_worker", "resources"):
        if said.get(field) is not None:
            said[field] = amounts(said[field])
