"""Your own training loop, used instead of the engine."""

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
    """The inputs of a trainer: the weights to start from, the plan, and whether to stop."""

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
        """The model version that training starts from."""
        self.shapes: dict[str, tuple[int, ...]] = {t.name: tuple(t.shape) for t in work.tensors()}
        """The shapes of the weights, by their names in the ONNX file, in the model's order."""

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan, as sent by the coordinator. `plan["training"]` has the loss, optimizer, epochs and batch size."""
        plan: dict[str, Any] = json.loads(self._native.plan())
        return plan

    @cached_property
    def weights(self) -> dict[str, Array]:
        """The weights to start from: float32 arrays by name, in the model's order. You may train in place."""
        return _split(self._buffer, self.shapes)

    @property
    def is_stopped(self) -> bool:
        """Whether the assignment was cancelled. Check it between steps, and return within 250 ms. Blocks while training
        is paused.
        """
        return self._native.is_stopped()

    @property
    def is_asked(self) -> bool:
        """Whether the coordinator wants a partial update. If so, return the weights so far if you can, with the
        examples used.
        """
        return self._native.is_asked()


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    weights: Weights
    """The new weights, by name or in the model's order, with the same shapes. They are copied once."""
    example_count: int
    """The number of examples used, at least 1. It is also the update's weight in the mean, up to the plan's limit."""
    loss: float
    """The mean loss per example during the training."""
    correct_count: int = 0
    """The number of correct predictions; 0 if there are no classes."""
    step_count: int = 0
    """The number of steps."""


@dataclass(frozen=True)
class Evaluated:
    """The result of an evaluation."""

    example_count: int
    """The number of examples, at least 1."""
    loss: float
    """The mean loss per example."""
    correct_count: int = 0
    """The number of correct predictions; 0 if there are no classes."""


class Trainer:
    """Your own training loop. Subclass it and pass an instance to `Client(trainer=...)`. Needs NumPy.

    The trainer receives weights and returns weights. The client still does the clipping, noise, compression and upload,
    so the plan's guarantees hold here too. Plans with example privacy are declined: that noise must be added in each
    step, and only the engine can guarantee that. Tensors that the plan freezes keep their values, even if you change
    them.
    """

    def example_count(self) -> int:
        """Returns the number of examples available for training, which the client sends with its check-in."""
        raise NotImplementedError

    def train(self, work: Work) -> Trained:
        """Trains from `work.weights`. Called in its own thread. If it raises an exception, the client gives up
        the assignment.
        """
        raise NotImplementedError

    def evaluate(self, work: Work) -> Evaluated | None:
        """Measures `work.weights` without training. Return None to let the engine evaluate `client.examples`."""
        return None


class NativeTrainer(native.Trainer):
    """Adapts a trainer to the native library's interface."""

    def __init__(self, trainer: Trainer) -> None:
        if numpy is None:
            raise errors.BadOptionError("a trainer needs NumPy; run `pip install folkmoot[numpy]`")
        self._trainer = trainer

    def example_count(self) -> int:
        """Returns the number of examples."""
        with _telling("example_count"):
            return int(self._trainer.example_count())

    def train(self, work: native.TrainerWork) -> native.Trained:
        """Calls the trainer's `train`."""
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
        """Calls the trainer's `evaluate`."""
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
    """Logs a trainer's exception, which may contain private data, and tells the client only that the trainer failed."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            _log.error("%s of the trainer failed; the client gives up the assignment", self._method, exc_info=error)
            raise errors.failed(f"{type(error).__name__} in {self._method}") from None


def _split(buffer: native.FloatBuffer, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Returns views of a buffer by tensor name, without copies."""
    flat = _buffers.view(buffer, [buffer.count()])
    parts, start = {}, 0
    for name, shape in shapes.items():
        end = start + int(numpy.prod(shape, dtype=int))
        parts[name] = flat[start:end].reshape(shape)
        start = end
    return parts


def _joined(weights: Weights, work: Work) -> native.FloatBuffer:
    """Copies the weights into a new buffer. The library takes its values, so nothing else may access its memory
    afterwards.
    """
    given = dict(weights) if isinstance(weights, Mapping) else _by_name(weights, list(work.shapes))
    if given.keys() != work.shapes.keys():
        raise ValueError(f"the trainer returned the weights {sorted(given)}, but the model has {sorted(work.shapes)}")
    buffer = _buffers.zeros(work._buffer.count())
    for name, part in _split(buffer, work.shapes).items():
        values = numpy.asarray(given[name])
        if values.shape != part.shape:
            raise ValueError(f"the trainer returned `{name}` with the shape {values.shape}; it must be {part.shape}")
        numpy.copyto(part, values, casting="same_kind")
    return buffer


def _by_name(weights: Sequence[Array], names: list[str]) -> dict[str, Array]:
    if len(weights) != len(names):
        raise ValueError(f"the trainer returned {len(weights)} weights; the model has {len(names)}: {', '.join(names)}")
    return dict(zip(names, weights))
