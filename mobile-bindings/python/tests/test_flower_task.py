"""Flower's strategies as keys of a task: the coordinator's own kinds reach the same weights as the strategies."""

from types import SimpleNamespace

import folkmoot
import numpy as np
import pytest
from functions_world import CLIENTS, ROUNDS, World

pytest.importorskip("flwr", reason="Flower is not installed: `cargo xtask test --only python` installs it")

from flwr.common import ndarrays_to_parameters
from flwr.server import strategy as results
from flwr.serverapp import strategy as messages
from folkmoot.flower import FlowerStrategy, task_keys

try:
    from flwr.serverapp import NeighboringRelation, PrivacyConfig, SamplingMethod
except ImportError:
    PrivacyConfig = None
needs_accountants = pytest.mark.skipif(PrivacyConfig is None, reason="Flower has accountants from 1.35 on")

START = ndarrays_to_parameters([np.zeros((3, 1), "f4"), np.zeros(1, "f4")])
EVERY = {"clients": CLIENTS}

pytestmark = pytest.mark.usefixtures("few_collections")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (messages.FedAvg(), {}),
        (
            messages.FedAvgM(server_momentum=0.5),
            {"finalizer": {"kind": "fed_avg_m", "momentum": 0.5, "server_learning_rate": 1.0}},
        ),
        (results.FedAvgM(server_learning_rate=0.5), {"finalizer": {"kind": "fed_avg", "server_learning_rate": 0.5}}),
        (messages.FedProx(proximal_mu=0.2), {"plan": {"proximal_term": 0.2}}),
        (
            messages.FedAdam(eta=0.02),
            {
                "finalizer": {
                    "kind": "fed_adam",
                    "server_learning_rate": 0.02,
                    "tau": 0.001,
                    "beta1": 0.9,
                    "beta2": 0.99,
                }
            },
        ),
        (
            results.FedYogi(initial_parameters=START),
            {
                "finalizer": {
                    "kind": "fed_yogi",
                    "server_learning_rate": 0.01,
                    "tau": 0.001,
                    "beta1": 0.9,
                    "beta2": 0.99,
                }
            },
        ),
        (
            results.FedAdagrad(initial_parameters=START),
            {"finalizer": {"kind": "fed_adagrad", "server_learning_rate": 0.1, "tau": 1e-09, "beta1": 0.0}},
        ),
        (messages.FedMedian(), {"aggregator": {"kind": "median"}}),
        (results.FedTrimmedAvg(beta=0.1), {"aggregator": {"kind": "trimmed_mean", "trim_share": 0.1}}),
        (messages.Krum(num_malicious_nodes=2), {"aggregator": {"kind": "krum", "byzantine_share": 0.3}}),
        (
            results.Krum(num_malicious_clients=1, num_clients_to_keep=3),
            {"aggregator": {"kind": "multi_krum", "byzantine_share": 0.157143, "chosen": 3}},
        ),
        (
            messages.MultiKrum(num_malicious_nodes=0, num_nodes_to_select=4),
            {"aggregator": {"kind": "multi_krum", "byzantine_share": 0.0, "chosen": 4}},
        ),
        (messages.Bulyan(num_malicious_nodes=1), {"aggregator": {"kind": "bulyan", "byzantine_share": 0.157143}}),
        (
            messages.QFedAvg(client_learning_rate=0.1, q=0.2),
            {"aggregator": {"kind": "q_fed_avg", "q": 0.2, "lipschitz": 10.0}},
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_settings_have_the_names_of_a_task(strategy, expected):
    keys = task_keys(strategy, **EVERY)
    scheduling = {"kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0}
    if expected.get("aggregator", {}).get("byzantine_share"):
        scheduling["minimum_cohort"] = CLIENTS
    fixed = {"aggregator": {"kind": "weighted_mean"}, "finalizer": {"kind": "fed_avg"}, "scheduling": scheduling}
    assert keys == {**fixed, **expected}


def test_every_strategy_of_flower_is_mapped_or_refused_with_a_reason():
    for library in (results, messages):
        for name in library.__all__:
            made = object.__new__(getattr(library, name)) if name not in ("Strategy", "Result") else None
            if made is None:
                continue
            try:
                task_keys(made, **EVERY)
            except folkmoot.BadOptionError as error:
                assert "Folkmoot does not know" not in str(error), name
            except (AttributeError, StopIteration):
                # It is mapped, but this object has no settings.
                pass


PAIRS = {
    "FedAvg": lambda _: results.FedAvg(),
    "FedAvgM": lambda _: messages.FedAvgM(server_momentum=0.5),
    "FedYogi": lambda _: messages.FedYogi(eta=0.05, tau=1e-6),
    "FedAdagrad": lambda _: messages.FedAdagrad(eta=0.05, tau=1e-6),
    "FedMedian": lambda _: messages.FedMedian(),
    "FedTrimmedAvg": lambda _: results.FedTrimmedAvg(beta=0.2),
    "Krum": lambda _: messages.Krum(num_malicious_nodes=2),
}
ALIKE = {
    "MultiKrum": lambda _: messages.MultiKrum(num_malicious_nodes=2, num_nodes_to_select=3),
    "QFedAvg": lambda _: messages.QFedAvg(client_learning_rate=0.1, q=0.2, train_loss_key="loss"),
}
"""Strategies whose weights are others, unless all clients have the same number of examples."""


@pytest.mark.parametrize("name", [*PAIRS, *ALIKE])
def test_the_keys_reach_the_weights_of_the_strategy(tmp_path, name):
    world, make = World(tmp_path), (PAIRS | ALIKE)[name]
    changes = {"partition": {"kind": "iid"}} if name in ALIKE else {}
    done, by_keys = world.simulate(task_keys(make(None), **EVERY), world=changes)
    flower = FlowerStrategy(make)
    _, by_strategy = world.simulate(world=changes, aggregate=flower.aggregate, finalize=flower.finalize)
    assert [row["reported"] for row in done.rounds] == [CLIENTS] * ROUNDS
    np.testing.assert_allclose(by_keys, by_strategy, atol=3e-6)


def test_the_size_of_a_round_is_that_of_flower():
    def goal(strategy):
        return task_keys(strategy, clients=50)["scheduling"]

    assert goal(messages.FedAvg(fraction_train=0.25))["report_goal"] == 12
    assert goal(results.FedAvg(fraction_fit=0.01, min_fit_clients=5))["report_goal"] == 5
    assert goal(results.FedAvg(accept_failures=False))["minimum_cohort"] == 50
    assert task_keys(messages.Krum(fraction_train=0.2, num_malicious_nodes=3), clients=50)["aggregator"] == {
        "kind": "krum",
        "byzantine_share": 0.31,
    }


def test_privacy_needs_a_budget_and_wraps_a_mean():
    fixed = messages.DifferentialPrivacyServerSideFixedClipping(messages.FedAdam(eta=0.02), 1.1, 0.5, 20)
    keys = task_keys(fixed, clients=100, epsilon=8.0, delta=1e-5)
    assert keys["privacy"] == {
        "kind": "central",
        "epsilon": 8.0,
        "delta": 1e-5,
        "noise_multiplier": 1.1,
        "clipping": {"kind": "fixed", "norm": 0.5},
    }
    assert keys["aggregator"] == {"kind": "uniform_mean"} and keys["scheduling"]["report_goal"] == 20
    assert keys["finalizer"]["kind"] == "fed_adam"
    adaptive = results.DifferentialPrivacyClientSideAdaptiveClipping(results.FedAvg(), 1.0, 20)
    assert task_keys(adaptive, clients=100, epsilon=8.0, delta=1e-5)["privacy"]["clipping"] == {
        "kind": "adaptive",
        "initial_norm": 0.1,
        "quantile": 0.5,
        "rate": 0.2,
    }
    for wrong, words in (
        (lambda: task_keys(fixed, clients=100), "needs a budget: give epsilon and delta"),
        (
            lambda: task_keys(
                messages.DifferentialPrivacyServerSideFixedClipping(messages.FedMedian(), 1.0, 0.5, 20),
                clients=100,
                epsilon=1.0,
                delta=1e-5,
            ),
            "wraps FedMedian, whose aggregator median cannot be combined",
        ),
        (
            lambda: task_keys(
                results.DPFedAvgFixed(results.FedAvg(), 20, 0.5, server_side_noising=False),
                clients=100,
                epsilon=1.0,
                delta=1e-5,
            ),
            'privacy.kind = "distributed"',
        ),
    ):
        with pytest.raises(folkmoot.BadOptionError, match=words):
            wrong()


def accounted(strategy=None, *, sampled=20, population=100, epsilon=3.0):
    """Returns a strategy with an accountant of Flower's own kind. Flower's implementation needs a package of its own."""
    config = PrivacyConfig(
        target_delta=1e-5,
        population_size=population,
        neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        sampling_method=SamplingMethod.NO_AMPLIFICATION,
        max_epsilon=epsilon,
    )
    accountant = SimpleNamespace(config=config, num_releases=0)
    return messages.DifferentialPrivacyServerSideFixedClipping(
        strategy or messages.FedAvg(), 1.1, 0.5, sampled, accountant=accountant
    )


@needs_accountants
def test_the_budget_of_an_accountant_becomes_that_of_the_task():
    privacy = task_keys(accounted(), clients=100)["privacy"]
    assert (privacy["epsilon"], privacy["delta"]) == (3.0, 1e-5)
    privacy = task_keys(accounted(), clients=100, epsilon=1.0, delta=1e-6)["privacy"]
    assert (privacy["epsilon"], privacy["delta"]) == (1.0, 1e-6), "what you give counts"
    with pytest.raises(folkmoot.BadOptionError, match="needs a budget: give epsilon"):
        task_keys(accounted(epsilon=None), clients=100)
    with pytest.raises(folkmoot.BadOptionError, match="a population of 100; .* clients is 50"):
        task_keys(accounted(), clients=50)
    used = accounted()
    used.accountant.num_releases = 2
    with pytest.raises(folkmoot.BadOptionError, match="has 2 releases"):
        task_keys(used, clients=100)


def test_a_round_with_privacy_can_reach_its_minimum():
    wrapped = messages.DifferentialPrivacyServerSideFixedClipping(results.FedAvg(accept_failures=False), 1.1, 0.5, 20)
    scheduling = task_keys(wrapped, clients=100, epsilon=8.0, delta=1e-5)["scheduling"]
    assert scheduling["report_goal"] == scheduling["minimum_cohort"] == 20


@pytest.mark.parametrize("kind", ["Fixed", "Adaptive"])
def test_a_task_with_the_keys_of_privacy_runs(tmp_path, kind):
    settings = (0.5, 0.5, CLIENTS) if kind == "Fixed" else (0.5, CLIENTS)
    wrapped = getattr(messages, f"DifferentialPrivacyServerSide{kind}Clipping")(messages.FedAvg(), *settings)
    done, _ = World(tmp_path).simulate(task_keys(wrapped, **EVERY, epsilon=500.0, delta=1e-3))
    assert done.summary["committed"] >= 1


def test_a_task_keeps_its_other_keys(tmp_path):
    task = {
        "name": "lines",
        "plan": {"epochs": 2},
        "scheduling": {"kind": "synchronous", "report_goal": 3, "reporting_deadline_seconds": 5},
        "finalizer": {"kind": "fed_yogi", "tau": 1.0},
    }
    merged = task_keys(messages.FedProx(proximal_mu=0.5), clients=CLIENTS, task=task)
    assert merged["plan"] == {"epochs": 2, "proximal_term": 0.5}
    assert merged["scheduling"]["reporting_deadline_seconds"] == 5 and merged["scheduling"]["report_goal"] == CLIENTS
    assert merged["finalizer"] == {"kind": "fed_avg"} and task["plan"] == {"epochs": 2}


def test_refusals_say_why_and_what_else_to_do():
    class Own(messages.FedAvg):
        pass

    for strategy, words in (
        (messages.FedXgbBagging(), "it exchanges trees.*The strategies that can are Bulyan.*FlowerStrategy runs any"),
        (Own(), "Own is a subclass of FedAvg.*docs/guides/strategies.md"),
        (messages.FedAdam, "give an instance"),
        ("FedAvg", "give an instance"),
        (3, "no strategy of Flower"),
    ):
        with pytest.raises(folkmoot.BadOptionError, match=words):
            task_keys(strategy, **EVERY)
    with pytest.raises(folkmoot.BadOptionError, match="clients is 0"):
        task_keys(messages.FedAvg(), clients=0)
