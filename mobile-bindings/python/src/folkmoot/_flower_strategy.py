"""Runs a strategy of Flower in a simulation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from . import _buffers
from .errors import BadOptionError
from .strategies import Commit, Update, Updates

MESSAGE_SECONDS = 43200.0
"""The answer deadline in messages to and from a strategy. Nobody waits for it."""


class FlowerStrategy:
    """A strategy that was written for Flower, as functions for `folkmoot.simulate`.

        flower = FlowerStrategy(FedMedian())
        folkmoot.simulate(…, aggregate=flower.aggregate, finalize=flower.finalize)

    The strategy's `aggregate_fit` (or `aggregate_train`) gets the weights that each client has reached. Its result becomes the next
    weights. The strategy decides nothing else: the task selects the clients and evaluates.
    """

    def __init__(self, strategy: Any) -> None:
        """Creates the functions from a strategy of `flwr.server.strategy` or `flwr.serverapp.strategy`, or from a function that
        makes a strategy.

        A strategy keeps its state, so it serves one simulation. A function is called at the beginning of each simulation, with
        the model's weights as Flower's `Parameters`. Some strategies need them, for example
        `FlowerStrategy(lambda parameters: FedAdam(initial_parameters=parameters))`.

        Raises BadOptionError for anything else.
        """
        try:
            import flwr.common
            import flwr.server.client_proxy  # noqa: F401
        except ImportError as error:
            raise BadOptionError(f"strategies need Flower 1.20 or newer: pip install flwr ({error})") from None
        self._make = None if _is_strategy(strategy) else strategy
        if self._make is not None and not callable(strategy):
            raise BadOptionError(f"{strategy!r} is neither a strategy of Flower nor a function that makes one")
        self.strategy: Any = None if self._make is not None else strategy
        """The strategy."""
        self.metrics: dict[int, dict[str, Any]] = {}
        """The metrics that the strategy has aggregated, by version."""
        self._last = 0
        self._returned: Any = None

    def aggregate(self, updates: Updates, commit: Commit) -> Any:
        """Lets the strategy aggregate. Returns the change from the newest weights to its result."""
        weights = updates.weights()
        self._begin(weights, commit)
        if hasattr(self.strategy, "aggregate_fit"):
            arrays, metrics = _by_results(self.strategy, updates, commit, weights)
        else:
            arrays, metrics = _by_messages(self.strategy, updates, commit, weights)
        self.metrics[commit.version] = dict(metrics or {})
        next_weights = weights
        if arrays is not None:
            shapes = [array.shape for array in arrays]
            if shapes != list(commit.shapes.values()):
                raise ValueError(
                    f"the strategy returned arrays of the shapes {shapes}; the model has {list(commit.shapes.values())}"
                )
            next_weights = _buffers.numpy.concatenate([array.ravel() for array in arrays]).astype("<f4")
        self._last, self._returned = commit.version, next_weights
        return next_weights.astype("<f8") - weights

    def finalize(self, weights: Any, aggregate: Any, commit: Commit) -> Any:
        """Returns the strategy's result, which becomes the next weights."""
        if commit.version == self._last and self._returned is not None:
            return self._returned
        return weights + aggregate

    def _begin(self, weights: Any, commit: Commit) -> None:
        """Makes or checks the strategy."""
        if commit.version > 1 and commit.version > self._last:
            if self._returned is not None and not (weights == self._returned).all():
                raise ValueError(
                    f"the weights of version {commit.version - 1} differ from the weights that the strategy returned, and a "
                    "strategy of Flower cannot take over other weights. Also give finalize=flower.finalize, and leave "
                    "evaluation.rollback_margin out of the task"
                )
            return
        if self._make is not None:
            self.strategy = self._make(_parameters(commit, weights))
            if not _is_strategy(self.strategy):
                raise ValueError(
                    f"the function returned {self.strategy!r}, which is no strategy of Flower; return one, such as FedAvg()"
                )
            self.metrics = {}
        elif self._last:
            raise ValueError(
                "this strategy has already run a simulation, and keeps its state. Create another one, or give "
                "FlowerStrategy a function that creates one"
            )
        initialize = getattr(self.strategy, "initialize_parameters", None)
        given = initialize(_Clients(0)) if initialize is not None else None
        if given is not None and not _are_equal(given, commit.tensors(weights)):
            raise ValueError(
                "the strategy's initial_parameters are not the model's weights. Give FlowerStrategy a function that gets these: "
                "lambda parameters: FedAdam(initial_parameters=parameters)"
            )


class _SelectingError(Exception):
    """A strategy begins to select clients. It has noted the weights before."""


class _Grid:
    """Stands in for Flower's grid, whose messages need Flower's own server."""

    def __getattr__(self, name: str) -> Any:
        raise _SelectingError


class _Clients:
    """Stands in for Flower's manager of clients. Folkmoot selects clients, and names none."""

    def __init__(self, count: int) -> None:
        self._all = [_proxy(f"update-{index}") for index in range(count)] if count else []

    def num_available(self) -> int:
        return len(self._all)

    def all(self) -> dict[str, Any]:
        return {one.cid: one for one in self._all}

    def wait_for(self, num_clients: int, timeout: int = 0) -> bool:
        return True

    def sample(self, num_clients: int, min_num_clients: int | None = None, criterion: Any = None) -> list[Any]:
        return self._all[:num_clients]


def _by_results(strategy: Any, updates: Updates, commit: Commit, weights: Any) -> tuple[list[Any] | None, Any]:
    """Calls `aggregate_fit`."""
    from flwr.common import parameters_to_ndarrays

    clients = _Clients(len(updates))
    # Some strategies note the current weights when they configure a round.
    strategy.configure_fit(commit.version, _parameters(commit, weights), clients)
    make = _result_class()
    results = [(proxy, make(update, weights, commit)) for proxy, update in zip(clients.all().values(), updates)]
    parameters, metrics = strategy.aggregate_fit(commit.version, results, [])
    return None if parameters is None else parameters_to_ndarrays(parameters), metrics


def _by_messages(strategy: Any, updates: Updates, commit: Commit, weights: Any) -> tuple[list[Any] | None, Any]:
    """Calls `aggregate_train`."""
    from flwr import app

    def record(flat: Any) -> Any:
        return app.ArrayRecord({name: app.Array(array.copy()) for name, array in commit.tensors(flat).items()})

    with contextlib.suppress(_SelectingError):
        strategy.configure_train(commit.version, record(weights), app.ConfigRecord(), _Grid())
    has_losses = all(update.loss is not None for update in updates)
    replies = []
    message: Any = app.Message
    for index, update in enumerate(updates):
        metrics = _metrics(update, has_losses)
        metrics[getattr(strategy, "weighted_by_key", "num-examples")] = update.weight
        content = app.RecordDict({"arrays": record(weights + update.flat), "metrics": app.MetricRecord(metrics)})
        metadata = app.Metadata(
            run_id=0,
            message_id=str(index),
            src_node_id=index,
            dst_node_id=0,
            reply_to_message_id=str(index),
            group_id=str(commit.version),
            created_at=time.time(),
            ttl=MESSAGE_SECONDS,
            message_type="train",
        )
        replies.append(message(content=content, metadata=metadata))
    arrays, aggregated = strategy.aggregate_train(commit.version, replies)
    return None if arrays is None else arrays.to_numpy_ndarrays(), aggregated


def _metrics(update: Update, has_loss: bool) -> dict[str, Any]:
    facts = {"examples": update.examples, "steps": update.steps, "staleness": update.staleness}
    return {**facts, "loss": update.loss} if has_loss else facts


def _result_class() -> Callable[[Update, Any, Commit], Any]:
    """Returns a `FitRes` that reads its parameters when a strategy asks for them."""
    from flwr.common import Code, FitRes, Parameters, Status

    class Result(FitRes):  # type: ignore[misc, unused-ignore]
        def __init__(self, update: Update, weights: Any, commit: Commit) -> None:
            self.status = Status(Code.OK, "")
            self.num_examples = update.weight
            self.metrics = _metrics(update, update.loss is not None)
            self._read: Callable[[], Any] = lambda: _parameters(commit, weights + update.flat)
            self._replaced: Parameters | None = None

        @property
        def parameters(self) -> Parameters:
            return self._read() if self._replaced is None else self._replaced

        @parameters.setter
        def parameters(self, parameters: Parameters) -> None:
            self._replaced = parameters

    return Result


def _proxy(cid: str) -> Any:
    from flwr.server import client_proxy

    kind: Any = client_proxy.ClientProxy

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "a strategy cannot call clients in Folkmoot; return instructions from configure_fit or configure_train"
        )

    methods = {name: refuse for name in kind.__abstractmethods__}
    return type("StandIn", (kind,), methods)(cid)


def _parameters(commit: Commit, flat: Any) -> Any:
    from flwr.common import ndarrays_to_parameters

    return ndarrays_to_parameters([array.copy() for array in commit.tensors(flat).values()])


def _are_equal(parameters: Any, tensors: dict[str, Any]) -> bool:
    from flwr.common import parameters_to_ndarrays

    given = parameters_to_ndarrays(parameters)
    pairs = zip(given, tensors.values())
    return len(given) == len(tensors) and all(_buffers.numpy.array_equal(one, other) for one, other in pairs)


def _is_strategy(thing: Any) -> bool:
    methods = (("configure_fit", "aggregate_fit"), ("configure_train", "aggregate_train"))
    return not isinstance(thing, type) and any(all(hasattr(thing, name) for name in names) for names in methods)
