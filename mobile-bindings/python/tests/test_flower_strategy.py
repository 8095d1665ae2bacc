"""Flower's strategies in simulations reach the weights of the built-in kinds."""

import folkmoot
import numpy as np
import pytest
from functions_world import CLIENTS, ROUNDS, World

pytest.importorskip("flwr", reason="Flower is not installed: `cargo xtask test --only python` installs it")

from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import strategy as results
from flwr.serverapp import strategy as messages
from folkmoot.flower import FlowerStrategy

# Flower computes with weights in float32: the weights are about 1, and each of 5 rounds rounds some times.
TOLERANCE = 3e-6
RATE = 0.05
WEIGHTED = {"aggregator": {"kind": "weighted_mean"}}
# Flower begins with squares of 0, and Folkmoot with those of tau.
ADAM = {"finalizer": {"kind": "fed_adam", "server_learning_rate": RATE, "tau": 1e-6}, **WEIGHTED}

pytestmark = pytest.mark.usefixtures("few_collections")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def run(world, strategy, changes=None, **options):
    flower = FlowerStrategy(strategy)
    done, weights = world.simulate(changes, aggregate=flower.aggregate, finalize=flower.finalize, **options)
    return flower, done, weights


def uncorrected(number, beta1=0.9, beta2=0.99):
    """The rate with which Flower's correction of the bias gives RATE: Reddi et al. 2021, algorithm 2, has no correction."""
    return RATE * (1 - beta1 ** (number + 1)) / np.sqrt(1 - beta2 ** (number + 1))


class PaperAdam(results.FedAdam):
    """A strategy of a user's own."""

    def aggregate_fit(self, server_round, results, failures):
        self.eta = uncorrected(server_round)
        return super().aggregate_fit(server_round, results, failures)


class PaperMessageAdam(messages.FedAdam):
    """The same for messages."""

    def aggregate_train(self, server_round, replies):
        self.eta = uncorrected(server_round)
        return super().aggregate_train(server_round, replies)


PAIRS = {
    "FedAvg": (lambda _: results.FedAvg(), WEIGHTED),
    "FedAvg of all at once": (lambda _: results.FedAvg(inplace=False), WEIGHTED),
    "FedAvg of messages": (lambda _: messages.FedAvg(), WEIGHTED),
    "FedAdam": (lambda parameters: PaperAdam(initial_parameters=parameters, tau=1e-6), ADAM),
    "FedAdam of messages": (lambda _: PaperMessageAdam(eta=RATE, tau=1e-6), ADAM),
    "FedMedian": (lambda _: results.FedMedian(), {"aggregator": {"kind": "median"}}),
    "FedMedian of messages": (lambda _: messages.FedMedian(), {"aggregator": {"kind": "median"}}),
    "FedTrimmedAvg": (
        lambda _: results.FedTrimmedAvg(beta=0.2),
        {"aggregator": {"kind": "trimmed_mean", "trim_share": 0.2}},
    ),
    "Krum": (
        lambda _: results.Krum(num_malicious_clients=2),
        {"aggregator": {"kind": "krum", "byzantine_share": 0.29}},
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_flowers_strategy_reaches_the_weights_of_the_built_in_kind(world, name):
    make, changes = PAIRS[name]
    _, expected = world.simulate(changes)
    flower, done, reached = run(world, make)
    np.testing.assert_allclose(reached, expected, atol=TOLERANCE)
    assert [row["reported"] for row in done.rounds] == [CLIENTS] * ROUNDS
    assert np.abs(reached[:3] - world.weight.ravel()).max() > 0.05, "training took place"
    again = run(world, flower._make)[2]
    assert again.tobytes() == reached.tobytes(), "the same seed and strategy give the same bytes"


def test_other_strategies_of_flower_run(world):
    for strategy in (
        results.QFedAvg(evaluate_fn=lambda number, arrays, config: (1.0, {})),
        results.FedAvgM(
            server_momentum=0.5, initial_parameters=ndarrays_to_parameters([world.weight, np.zeros(1, "f4")])
        ),
        results.DifferentialPrivacyServerSideFixedClipping(results.FedAvg(), 0.0, 0.5, CLIENTS),
        messages.FedAvgM(server_momentum=0.5),
        messages.FedYogi(),
        messages.QFedAvg(client_learning_rate=0.1, train_loss_key="loss"),
        messages.DifferentialPrivacyServerSideFixedClipping(messages.FedAvg(), 0.0, 0.5, CLIENTS),
    ):
        _, done, _ = run(world, strategy)
        assert done.rounds[-1]["version"] == ROUNDS, strategy


def test_a_strategy_of_ones_own_sees_results_and_keeps_its_state(world):
    class Noting(results.FedAvg):
        def __init__(self):
            super().__init__(fit_metrics_aggregation_fn=lambda pairs: {"loss": sum(m["loss"] for _, m in pairs)})
            self.noted = []

        def aggregate_fit(self, server_round, results, failures):
            assert failures == [] and len(results) == CLIENTS
            proxy, first = results[0]
            assert proxy.cid == "update-0" and first.num_examples == first.metrics["examples"]
            assert [one.shape for one in parameters_to_ndarrays(first.parameters)] == [(3, 1), (1,)]
            self.noted.append(server_round)
            # No parameters leave the model as it is.
            return super().aggregate_fit(server_round, results, failures) if server_round > 1 else (None, {})

    strategy = Noting()
    flower, done, _ = run(world, strategy)
    assert strategy.noted == [1, 2, 3, 4, 5]
    assert flower.metrics[1] == {} and 0 < flower.metrics[5]["loss"] < flower.metrics[2]["loss"]
    assert done.rounds[0]["held_out_loss"] > done.rounds[1]["held_out_loss"]
    with pytest.raises(folkmoot.SimulationError, match="has already run a simulation.*a function that creates one"):
        world.simulate(aggregate=flower.aggregate, finalize=flower.finalize)


def test_mistakes_show(world):
    class Broken(results.FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            raise RuntimeError("no idea")

    with pytest.raises(folkmoot.SimulationError, match="(?s)in aggregate_fit.*no idea"):
        run(world, Broken())
    wrong = ndarrays_to_parameters([world.weight + 1, np.zeros(1, "f4")])
    with pytest.raises(folkmoot.SimulationError, match="initial_parameters are not the model's weights.*lambda"):
        run(world, results.FedAdam(initial_parameters=wrong))
    with pytest.raises(folkmoot.BadOptionError, match="neither a strategy of Flower nor a function"):
        FlowerStrategy(3)
    with pytest.raises(folkmoot.SimulationError, match="which is no strategy of Flower"):
        run(world, lambda parameters: None)
    flower = FlowerStrategy(results.FedAvg())
    with pytest.raises(folkmoot.SimulationError, match="Also give finalize=flower.finalize"):
        world.simulate({"finalizer": {"kind": "fed_avg", "server_learning_rate": 0.5}}, aggregate=flower.aggregate)

    class Short(results.FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            return ndarrays_to_parameters([np.zeros(2)]), {}

    with pytest.raises(folkmoot.SimulationError, match="the strategy returned arrays of the shapes"):
        run(world, Short())


def test_a_rollback_ends_the_simulation(world):
    class Jumping(results.FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            if server_round != 3:
                return super().aggregate_fit(server_round, results, failures)
            return ndarrays_to_parameters([np.full((3, 1), 50.0), np.zeros(1)]), {}

    evaluation = {"central": True, "metric": "loss", "every_versions": 1, "rollback_margin": 0.5}
    with pytest.raises(folkmoot.SimulationError, match="version 4 differ from the weights that the strategy returned"):
        run(world, Jumping(), {"evaluation": evaluation, "stop": {"rounds": 6}})
