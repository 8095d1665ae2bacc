"""Runs clients that were written for Flower in Folkmoot's rounds, without changes; Flower's strategies in simulations
(`FlowerStrategy`); and its strategies as the keys of a task (`task_keys`).

    import folkmoot
    from folkmoot.flower import FlowerTrainer

    client = folkmoot.Client(coordinator, state_directory="state", enrolment_token=token, trainer=FlowerTrainer(MyNumPyClient()))

In Folkmoot, the task decides what Flower's server would decide: strategy, privacy and compression. Leave out mods of a
`ClientApp` that compress or mask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._flower_strategy import FlowerStrategy
from ._flower_task import task_keys
from .errors import BadOptionError
from .trainer import Evaluated, Trained, Trainer, Work

__all__ = ["Config", "FlowerStrategy", "FlowerTrainer", "task_keys"]

Config = Mapping[str, Any]

MESSAGE_SECONDS = 43200.0
"""The answer deadline in messages to a `ClientApp`. The round's own deadline applies in any case."""

_ARRAYS, _CONFIG = "arrays", "config"


class FlowerTrainer(Trainer):
    """Trains with a client that was written for Flower.

    Parameters travel in the order of the ONNX file's initializers, which must be the order of `get_parameters`. If the
    client uses another order, `order` lists the names in the client's order.
    """

    def __init__(
        self,
        client: Any,
        *,
        config: Config | Callable[[int], Config] | None = None,
        order: Sequence[str] | None = None,
        example_count: int = 1,
        node_config: Config | None = None,
        run_config: Config | None = None,
    ) -> None:
        """Creates a trainer from a `NumPyClient`, a `Client`, a `ClientApp`, or a function that makes a client from a
        `Context`.

        `config` is passed to `fit` and `evaluate`, in addition to `server_round`. It may also be a function of the
        round's number, like `on_fit_config_fn`. `example_count` is sent with check-ins until the first round has
        reported the actual number. `node_config` and `run_config` are for a `ClientApp`; put `partition-id` into
        `node_config`.

        Raises BadOptionError for any other kind of client.
        """
        self._config = config
        self._order = None if order is None else list(order)
        self._example_count = example_count
        self._client: _NumPyClient | _App
        if not isinstance(client, type) and _has_methods(client, "fit") and not _is_flower_client(client):
            self._client = _NumPyClient(client)
        else:
            self._client = _App(client, node_config or {}, run_config or {})

    def example_count(self) -> int:
        """The number of examples that the last round reported; before the first round, the number given at creation."""
        return self._example_count

    def train(self, work: Work) -> Trained:
        """Calls `fit`, or the app's train function."""
        names = self._names(work)
        arrays, count, metrics = self._client.fit({name: work.weights[name] for name in names}, self._configured(work))
        self._example_count = int(count)
        if len(arrays) != len(names):
            raise ValueError(
                f"the client returned {len(arrays)} arrays; the model has {len(names)}: {', '.join(names)}"
            )
        return Trained(
            weights=dict(zip(names, arrays)),
            example_count=int(count),
            loss=_first(metrics, "loss", "train_loss", "train-loss"),
            correct_count=_correct(metrics, int(count)),
        )

    def evaluate(self, work: Work) -> Evaluated | None:
        """Calls `evaluate`, or the app's evaluate function. If the client has no examples for it, the engine evaluates."""
        weights = {name: work.weights[name] for name in self._names(work)}
        loss, count, metrics = self._client.evaluate(weights, self._configured(work))
        if int(count) == 0:
            return None
        return Evaluated(example_count=int(count), loss=float(loss), correct_count=_correct(metrics, int(count)))

    def _names(self, work: Work) -> list[str]:
        names = self._order or list(work.shapes)
        if sorted(names) != sorted(work.shapes):
            raise ValueError(f"order lists {sorted(names)}, but the model has {sorted(work.shapes)}")
        return names

    def _configured(self, work: Work) -> dict[str, Any]:
        config = self._config(work.round_number) if callable(self._config) else self._config
        return {"server_round": work.round_number, "server-round": work.round_number, **(config or {})}


class _NumPyClient:
    """A `NumPyClient` or an object with its methods. Flower itself is not needed."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def fit(self, weights: dict[str, Any], config: dict[str, Any]) -> tuple[list[Any], int, Config]:
        arrays, count, metrics = self._client.fit([weight.copy() for weight in weights.values()], config)
        return list(arrays), count, metrics

    def evaluate(self, weights: dict[str, Any], config: dict[str, Any]) -> tuple[float, int, Config]:
        if not _has_methods(self._client, "evaluate"):
            return 0.0, 0, {}
        loss, count, metrics = self._client.evaluate([weight.copy() for weight in weights.values()], config)
        return loss, count, metrics


class _App:
    """A `ClientApp`, called with the messages that Flower's server would send."""

    def __init__(self, client: Any, node_config: Config, run_config: Config) -> None:
        app, client_app, record_dict = _flower()
        if isinstance(client, client_app):
            self._app = client
        elif _is_flower_client(client):
            self._app = client_app(client_fn=lambda context: client)
        elif callable(client):
            self._app = client_app(client_fn=client)
        else:
            kind = type(client).__name__
            raise BadOptionError(
                f"{kind} is neither a NumPyClient, a Client, a ClientApp nor a function that makes one"
            )
        self._messages = 0
        # One context for all rounds, so that the client's state persists.
        self._context = app.Context(0, 0, dict(node_config), record_dict(), dict(run_config))

    def fit(self, weights: dict[str, Any], config: dict[str, Any]) -> tuple[list[Any], int, Config]:
        content = self._ask("train", weights, config, "fitins.parameters", "fitins.config")
        arrays = next(iter(content.array_records.values())).to_numpy_ndarrays()
        count, metrics = _metrics(content)
        return arrays, count, metrics

    def evaluate(self, weights: dict[str, Any], config: dict[str, Any]) -> tuple[float, int, Config]:
        content = self._ask("evaluate", weights, config, "evaluateins.parameters", "evaluateins.config")
        count, metrics = _metrics(content)
        return _first(metrics, "loss", "eval_loss", "eval-loss"), count, metrics

    def _ask(self, kind: str, weights: dict[str, Any], config: dict[str, Any], arrays: str, configs: str) -> Any:
        """Sends the records under the current names, or under the names that a `client_fn` reads."""
        app, _, _ = _flower()
        record, settings = app.ArrayRecord(_arrays(app, weights)), app.ConfigRecord(config)
        if getattr(self._app, "_call", None) is None:
            arrays, configs = _ARRAYS, _CONFIG
        content = app.RecordDict({arrays: record, configs: settings})
        self._messages += 1
        metadata = app.Metadata(
            run_id=0,
            message_id=str(self._messages),
            src_node_id=0,
            dst_node_id=0,
            reply_to_message_id="",
            group_id=str(config["server_round"]),
            created_at=time.time(),
            ttl=MESSAGE_SECONDS,
            message_type=kind,
        )
        reply = self._app(app.Message(content=content, metadata=metadata), self._context)
        if reply.has_error():
            raise RuntimeError(f"the ClientApp answered with an error: {reply.error}")
        return reply.content


def _flower() -> tuple[Any, Any, Any]:
    try:
        from flwr import app, clientapp
    except ImportError as error:
        raise BadOptionError(f"this client needs Flower 1.20 or newer: pip install flwr ({error})") from None
    return app, clientapp.ClientApp, app.RecordDict


def _arrays(app: Any, weights: dict[str, Any]) -> dict[str, Any]:
    return {name: app.Array(weight.copy()) for name, weight in weights.items()}


def _metrics(content: Any) -> tuple[int, dict[str, Any]]:
    """Returns the number of examples and all metrics of an answer, under any of Flower's names for them."""
    merged: dict[str, Any] = {}
    for name, record in content.config_records.items():
        if name.endswith(".metrics"):
            merged.update(record)
    for name, record in content.metric_records.items():
        is_loss = name.endswith(".loss") and len(record) == 1
        merged.update({"loss": next(iter(record.values()))} if is_loss else record)
    return int(_first(merged, "num-examples", "num_examples")), merged


def _first(metrics: Config, *names: str) -> float:
    return next((float(metrics[name]) for name in names if name in metrics), 0.0)


def _correct(metrics: Config, count: int) -> int:
    share = _first(metrics, "accuracy", "train_accuracy", "eval_acc", "train_acc")
    return min(count, max(0, round(share * count)))


def _has_methods(client: Any, *names: str) -> bool:
    return all(callable(getattr(client, name, None)) for name in names)


def _is_flower_client(client: Any) -> bool:
    """Whether this is a `Client`, which uses Flower's own types, and not a `NumPyClient`."""
    return any(kind.__name__ == "Client" and kind.__module__.startswith("flwr.") for kind in type(client).__mro__)
