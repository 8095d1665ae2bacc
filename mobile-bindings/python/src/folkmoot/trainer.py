"""A training loop of your own, instead of the engine's."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union

from . import _buffers, errors
from ._buffers import numpy
from ._native import folkmoot_mobile as native

if TYPE_CHECKING:
    from numpy import ndarray

    Array = ndarray[Any, Any]
    Weights = Union[Mapping[str, Array], Sequence[Array]]
else:
    Array = Weights = Any

_log = logging.getLogger("folkmoot.trainer")


class Work:
    """What a trainer is given: the weights to begin with, the plan, and whether it is still wanted."""

    def __init__(self, work: native.TrainerWork) -> None:
        self._native = work
        self._buffer = work.weights()
        self.assignment_id: str = work.assignment_id()
        """The assignment."""
        self.task_id: str = work.task_id()
        """The task."""
        self.round_number: int = work.round_number()
        """The round's number in its task."""
        self.base_version: int = work.base_version()
        """The model version from which it starts."""
        self.shapes: dict[str, tuple[int, ...]] = {t.name: tuple(t.shape) for t in work.tensors()}
        """The shapes of the weights by the names of the ONNX file, in the order of the model."""

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan, as the coordinator wrote it; `plan["training"]` has loss, optimizer, epochs and batch size."""
        plan: dict[str, Any] = json.loads(self._native.plan())
        return plan

    @cached_property
    def weights(self) -> dict[str, Array]:
        """The weights to begin with: float32 by name, in the order of the model. They are yours to train in place."""
        return _split(self._buffer, self.shapes)

    @property
    def is_stopped(self) -> bool:
        """Whether the work is not wanted any more: look between steps, and return within 250 ms."""
        return self._native.is_stopped()

    @property
    def is_asked(self) -> bool:
        """Whether the round waits for this update: a loop that can returns what it has so far, with the examples used."""
        return self._native.is_asked()


@dataclass(frozen=True)
class Trained:
    """What a trainer returns."""

    weights: Weights
    """The new weights, by name or in the order of the model, with the same shapes. They are copied, once."""
    example_count: int
    """The examples used, at least 1, which are also what the update weighs in the mean, up to the plan's limit."""
    loss: float
    """The mean loss of an example during the training."""
    correct_count: int = 0
    """The examples whose class was right; 0 where there are no classes."""
    step_count: int = 0
    """The steps taken."""


@dataclass(frozen=True)
class Evaluated:
    """What a trainer has measured."""

    example_count: int
    """The examples, at least 1."""
    loss: float
    """Their mean loss."""
    correct_count: int = 0
    """Those whose class was right; 0 where there are no classes."""


class Trainer:
    """A training loop of your own: subclass it, and give it to `Client(trainer=...)`. It needs NumPy.

    Weights come in, weights go out. Clipping, noise, codec and upload stay in the client, so what the plan promises holds
    also here. A plan with example privacy is declined: that noise belongs into the steps, and only the engine vouches
    for it. What a plan freezes stays, whatever is returned for it.
    """

    def example_count(self) -> int:
        """How many examples there are to train on, which a check-in states."""
        raise NotImplementedError

    def train(self, work: Work) -> Trained:
        """Trains from `work.weights`. Called in a thread of its own; what it raises gives the assignment up."""
        raise NotImplementedError

    def evaluate(self, work: Work) -> Evaluated | None:
        """Measures `work.weights` without training; None leaves that to the engine and `client.examples`."""
        return None


class NativeTrainer(native.Trainer):
    """A trainer as the native library calls it."""

    def __init__(self, trainer: Trainer) -> None:
        if numpy is None:
            raise errors.BadOptionError("a trainer needs NumPy: pip install folkmoot[numpy]")
        self._trainer = trainer

    def example_count(self) -> int:
        """How many examples there are."""
        with _telling("example_count"):
            return int(self._trainer.example_count())

    def train(self, work: native.TrainerWork) -> native.Trained:
        """Trains."""
        with _telling("train"):
            given = Work(work)
            trained = self._trainer.train(given)
            buffer = _joined(trained.weights, given)
            return native.Trained(
                weights=buffer,
                example_count=int(trained.example_count),
                loss_sum=float(trained.loss) * int(trained.example_count),
                correct_count=int(trained.correct_count),
                step_count=int(trained.step_count),
            )

    def evaluate(self, work: native.TrainerWork) -> native.Evaluated | None:
        """Measures."""
        with _telling("evaluate"):
            measured = self._trainer.evaluate(Work(work))
            if measured is None:
                return None
            return native.Evaluated(
                example_count=int(measured.example_count),
                loss_sum=float(measured.loss) * int(measured.example_count),
                correct_count=int(measured.correct_count),
            )


class _telling:
    """Logs what a trainer raises, which only this device may know, and tells the client that it failed."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            _log.error("the trainer's %s failed, and the assignment is given up", self._method, exc_info=error)
            raise errors.failed(f"{type(error).__name__} in {self._method}") from None


def _split(buffer: native.FloatBuffer, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The parts of a buffer by name: views, not copies."""
    flat = _buffers.view(buffer, [buffer.count()])
    parts, start = {}, 0
    for name, shape in shapes.items():
        end = start + int(numpy.prod(shape, dtype=int))
        parts[name] = flat[start:end].reshape(shape)
        start = end
    return parts


def _joined(weights: Weights, work: Work) -> native.FloatBuffer:
    """The weights in a buffer that the library takes: nobody may look at its memory after that, so it is a new one."""
    given = dict(weights) if isinstance(weights, Mapping) else _by_name(weights, list(work.shapes))
    if given.keys() != work.shapes.keys():
        raise ValueError(f"the trainer returned the weights {sorted(given)}: {sorted(work.shapes)} are expected")
    buffer = _buffers.zeros(work._buffer.count())
    for name, part in _split(buffer, work.shapes).items():
        values = numpy.asarray(given[name])
        if values.shape != part.shape:
            raise ValueError(f"the trainer returned `{name}` with the shape {values.shape}: {part.shape} is expected")
        numpy.copyto(part, values, casting="same_kind")
    return buffer


def _by_name(weights: Sequence[Array], names: list[str]) -> dict[str, Array]:
    if len(weights) != len(names):
        raise ValueError(f"the trainer returned {len(weights)} weights: the model has {len(names)}, {', '.join(names)}")
    return dict(zip(names, weights))
