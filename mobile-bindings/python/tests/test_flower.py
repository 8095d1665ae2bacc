"""Clients that were written for Flower end with the same weights as under Flower's own FedAvg."""

import threading
import time

import folkmoot
import numpy as np
import pytest
from folkmoot.flower import FlowerTrainer
from small_task import linear_model, task_text

flwr = pytest.importorskip("flwr", reason="Flower is not installed: `cargo xtask test --only python` installs it")

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, Metadata, MetricRecord, RecordDict
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg
from flwr.serverapp.strategy import FedAvg as MessageFedAvg

ROUNDS = 4
COUNTS = (10, 25, 40)
WEIGHT, BIAS = np.array([[0.5], [-0.5], [0.0]], np.float32), np.array([0.25], np.float32)
# Clients compute in float32. Folkmoot sums multiples of 2^-28 exactly, and Flower sums in float32.
TOLERANCE = 2e-6


def silo(number):
    generator = np.random.default_rng(number)
    x = generator.normal(number, 1.0, size=(COUNTS[number], 3)).astype(np.float32)
    return x, (x @ np.array([[1.0], [2.0], [-1.0]]) + 0.1 * generator.normal(size=(len(x), 1))).astype(np.float32)


def steps(arrays, x, y, rate=0.02, count=3):
    """A few steps of least squares: deterministic, and not linear in the number of steps."""
    weight, bias = (array.copy() for array in arrays)
    for _ in range(count):
        error = x @ weight + bias - y
        weight -= np.float32(rate) * (x.T @ error) / len(x)
        bias -= np.float32(rate) * error.mean(0)
    return [weight, bias], float((error**2).mean())


class Regression(NumPyClient):
    """Uses only Flower's API."""

    def __init__(self, number):
        self.x, self.y = silo(number)

    def get_parameters(self, config):
        return [WEIGHT, BIAS]

    def fit(self, parameters, config):
        arrays, loss = steps(parameters, self.x, self.y, rate=0.02 / config["server_round"])
        return arrays, len(self.x), {"loss": loss}

    def evaluate(self, parameters, config):
        error = self.x @ parameters[0] + parameters[1] - self.y
        return float((error**2).mean()), len(self.x), {"accuracy": 0.5}


def message_app(number):
    """The same client as a message-based app."""
    app, (x, y) = ClientApp(), silo(number)

    @app.train()
    def train(message, context):
        arrays = message.content["arrays"].to_numpy_ndarrays()
        arrays, loss = steps(arrays, x, y, rate=0.02 / message.content["config"]["server-round"])
        metrics = MetricRecord({"num-examples": len(x), "train_loss": loss})
        return Message(RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        weight, bias = message.content["arrays"].to_numpy_ndarrays()
        loss = float(((x @ weight + bias - y) ** 2).mean())
        metrics = MetricRecord({"num-examples": len(x), "eval_loss": loss, "eval_acc": 0.5})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


FORMS = {
    "NumPyClient": Regression,
    "Client": lambda number: Regression(number).to_client(),
    "client_fn": lambda number: lambda context: Regression(number).to_client(),
    "ClientApp of a client_fn": lambda number: ClientApp(client_fn=lambda context: Regression(number).to_client()),
    "ClientApp": message_app,
}


def by_flower():
    """Runs Flower's own strategy over the same clients."""
    strategy, clients = FedAvg(), [Regression(number) for number in range(len(COUNTS))]
    arrays = [WEIGHT, BIAS]
    for server_round in range(1, ROUNDS + 1):
        fitted = [client.fit([array.copy() for array in arrays], {"server_round": server_round}) for client in clients]
        answers = [
            (None, FitRes(Status(Code.OK, ""), ndarrays_to_parameters(parameters), count, metrics))
            for parameters, count, metrics in fitted
        ]
        parameters, _ = strategy.aggregate_fit(server_round, answers, [])
        arrays = parameters_to_ndarrays(parameters)
    return arrays


def by_flowers_messages():
    """Runs Flower's newer strategy over the same clients as message-based apps."""
    strategy, record = MessageFedAvg(), ArrayRecord([WEIGHT, BIAS])
    apps = [message_app(number) for number in range(len(COUNTS))]
    for server_round in range(1, ROUNDS + 1):
        replies = []
        for app in apps:
            config = ConfigRecord({"server-round": server_round})
            content = RecordDict({"arrays": record, "config": config})
            metadata = Metadata(0, "1", 0, 1, "", "", time.time(), 60.0, "train")
            replies.append(app(Message(content=content, metadata=metadata), Context(0, 1, {}, RecordDict(), {})))
        record, _ = strategy.aggregate_train(server_round, replies)
    return record.to_numpy_ndarrays()


def by_folkmoot(coordinator, tmp_path, make):
    model = linear_model(tmp_path / "model.onnx", WEIGHT, BIAS)
    # FedAvg trusts the weights that clients report.
    text = task_text("flower", report_goal=len(COUNTS), rounds=ROUNDS) + '\n[aggregator]\nkind = "weighted_mean"\n'
    task = coordinator.create_task(text, model)
    token = coordinator.create_token("flower")
    clients = [
        folkmoot.Client(
            coordinator.url,
            state_directory=tmp_path / f"client-{number}",
            enrolment_token=token,
            certificate=coordinator.certificate,
            trainer=FlowerTrainer(make(number)),
        )
        for number in range(len(COUNTS))
    ]
    threads = [threading.Thread(target=client.run, args=(ROUNDS,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for client in clients:
        client.close()
    rounds = coordinator.wait_for_rounds(task, ROUNDS)
    assert [one["accepted"] for one in rounds] == [len(COUNTS)] * ROUNDS
    weights = coordinator.weights(task)
    return [weights["weight"], weights["bias"]]


def test_flowers_two_strategies_agree():
    for ours, theirs in zip(by_flower(), by_flowers_messages()):
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_weights_as_under_flowers_fedavg(coordinator, tmp_path, form):
    expected = by_flower()
    reached = by_folkmoot(coordinator, tmp_path, FORMS[form])
    for ours, theirs in zip(reached, expected):
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE)
    # Training took place: the weights are far from the start, and are not those of a single client.
    assert np.abs(reached[0] - WEIGHT).max() > 0.1
    alone, _ = steps([WEIGHT, BIAS], *silo(0))
    assert np.abs(reached[0] - alone[0]).max() > 0.01


class Given:
    """The inputs of an evaluation."""

    round_number = 1
    shapes = {"weight": (3, 1), "bias": (1,)}
    weights = {"weight": WEIGHT, "bias": BIAS}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_client_measures_is_told(form):
    measured = FlowerTrainer(FORMS[form](1)).evaluate(Given())
    x, y = silo(1)
    expected = float(((x @ WEIGHT + BIAS - y) ** 2).mean())
    assert (measured.example_count, measured.correct_count) == (25, 12)
    assert measured.loss == pytest.approx(expected, rel=1e-6)


def test_a_client_with_another_order_of_weights_names_it():
    class Swapped(Regression):
        def fit(self, parameters, config):
            arrays, _, metrics = super().fit(parameters[::-1], config)
            return arrays[::-1], len(self.x), metrics

    trained = FlowerTrainer(Swapped(0), order=["bias", "weight"]).train(Given())
    straight = FlowerTrainer(Regression(0)).train(Given())
    for name in Given.shapes:
        np.testing.assert_array_equal(trained.weights[name], straight.weights[name])
    with pytest.raises(ValueError, match="order lists"):
        FlowerTrainer(Swapped(0), order=["bias"]).train(Given())


def test_what_is_no_client_is_refused():
    for thing in (1, "client", object()):
        with pytest.raises(folkmoot.BadOptionError, match="neither a NumPyClient"):
            FlowerTrainer(thing)
