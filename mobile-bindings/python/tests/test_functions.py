"""Simulations with functions of one's own, with the real program."""

import struct
import subprocess

import folkmoot
import numpy as np
import pytest
from folkmoot.strategies import Commit
from functions_world import CLIENTS, ROUNDS, World
from small_task import PROGRAM

# The program sums multiples of 2^-28 exactly, keeps the state of a finalizer in float32, and so the weights.
TOLERANCE = 1e-6


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def weighted_mean(updates, commit):
    total = sum(update.weight for update in updates)
    return sum(update.flat.astype(float) * update.weight for update in updates) / total


def median(updates, commit):
    result = np.zeros(commit.parameters)
    for first, rows in updates.tiles(size=3):
        result[first : first + rows.shape[1]] = np.median(rows, axis=0)
    return result


def uniform_mean(updates, commit):
    return {name: np.mean([update.tensors[name] for update in updates], axis=0) for name in commit.shapes}


def fed_adam(weights, aggregate, commit, rate=0.05, beta1=0.9, beta2=0.99, tau=1e-3):
    """Reddi et al. 2021, algorithm 2: FedAdam."""
    momentum, squares = commit.state or (0.0, tau**2)
    momentum = beta1 * momentum + (1 - beta1) * aggregate
    squares = beta2 * squares + (1 - beta2) * aggregate**2
    commit.state = momentum, squares
    return weights + rate * momentum / (np.sqrt(squares) + tau)


ADAM = {"finalizer": {"kind": "fed_adam", "server_learning_rate": 0.05}}
MEDIAN = {"aggregator": {"kind": "median"}}
FUNCTIONS = {
    "weighted mean": ({"aggregator": {"kind": "weighted_mean"}}, {"aggregate": weighted_mean}),
    "uniform mean": ({"aggregator": {"kind": "uniform_mean"}}, {"aggregate": uniform_mean}),
    "median": (MEDIAN, {"aggregate": median}),
    "Adam": (ADAM, {"finalize": fed_adam}),
    "both": ({**MEDIAN, **ADAM}, {"aggregate": median, "finalize": fed_adam}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_what_the_built_in_kind_gives(world, name):
    changes, functions = FUNCTIONS[name]
    _, expected = world.simulate(changes)
    done, reached = world.simulate(**functions)
    assert [row["reported"] for row in done.rounds] == [CLIENTS] * ROUNDS
    np.testing.assert_allclose(reached, expected, atol=TOLERANCE)
    # The same seed and the same functions give the same bytes, also on one thread.
    again, repeated = world.simulate(**functions, threads=1)
    assert again.rounds == done.rounds and repeated.tobytes() == reached.tobytes()


def test_a_function_sees_what_a_component_sees(world):
    seen = []

    def watch(updates, commit):
        first = updates[0]
        assert len(updates) == commit.updates and commit.mean_staleness is None
        assert commit.shapes == {"weight": (3, 1), "bias": (1,)} and commit.parameters == 4
        rows = updates.rows()
        assert rows.dtype == np.float32 and rows.shape == (CLIENTS, 4)
        assert (rows[0] == first.flat).all() and (rows[0, 3:] == first.tensors["bias"]).all()
        assert (updates.rows(1, 3) == rows[:, 1:3]).all()
        assert all(one.weight == one.examples and one.steps == -(-one.examples // 8) for one in updates)
        assert all(one.loss > 0 and one.staleness == 0 and one.attenuation == 1 for one in updates)
        seen.append((commit.version, commit.seed, commit.state, [one.weight for one in updates[1:]]))
        commit.state = [*(commit.state or []), commit.version]
        return updates.weights() * 0

    _, reached = world.simulate(aggregate=watch)
    assert [one[0] for one in seen] == [1, 2, 3, 4, 5]
    assert [one[2] for one in seen] == [None, [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]
    assert len({one[1] for one in seen}) == ROUNDS and len(set(seen[0][3])) > 1
    assert (reached == [*world.weight.ravel(), 0]).all(), "zeros leave the model"


def test_updates_are_read_within_their_commit_and_the_model(world):
    kept = []

    def late(updates, commit):
        kept.append(updates)
        return kept[0].weights() * 0 + kept[0][-1].flat.sum()

    with pytest.raises(folkmoot.SimulationError, match="version 1 can be read only while it is aggregated"):
        world.simulate(aggregate=late)
    for first, last in [(-1, 2), (3, 2), (0, 5)]:
        with pytest.raises(folkmoot.SimulationError, match=f"no parameters {first} to {last}; the model has 4"):
            world.simulate(aggregate=lambda updates, commit, bounds=(first, last): updates.rows(*bounds))

    def keeping(updates, commit):
        commit.state = updates
        return np.zeros(4)

    with pytest.raises(folkmoot.SimulationError, match="(?s)aggregate failed for version 2.*pickle"):
        world.simulate(aggregate=keeping)


def test_functions_go_with_asynchrony_and_a_coordinator_that_crashes(world):
    stale = []

    def mean(updates, commit):
        stale.extend(update.staleness for update in updates)
        commit.state = (commit.state or 0) + 1
        assert commit.state == commit.version
        return uniform_mean(updates, commit)

    buffered = {"kind": "buffered", "buffer_goal": 3, "concurrency": 6}
    faults = {"coordinator_crash_seconds": 20.0, "coordinator_restart_seconds": 1.0}
    done, _ = world.simulate({"scheduling": buffered, "stop": {"rounds": 30}}, {"faults": faults}, aggregate=mean)
    assert done.summary["crashes"] > 0 and max(stale) > 0
    assert sum(row["version"] is not None for row in done.rounds) == 30


def test_an_interrupted_simulation_goes_on_and_calls_its_functions_again(world):
    _, expected = world.simulate(aggregate=weighted_mean, finalize=fed_adam)
    versions = []

    def broken(updates, commit):
        versions.append(commit.version)
        if len(versions) == 4:
            raise KeyboardInterrupt
        return weighted_mean(updates, commit)

    with pytest.raises(KeyboardInterrupt):
        world.simulate(aggregate=broken, finalize=fed_adam, resume=True)
    _, reached = world.simulate(aggregate=broken, finalize=fed_adam, resume=True)
    assert versions == [1, 2, 3, 4, 1, 2, 3, 4, 5]
    assert reached.tobytes() == expected.tobytes()


def aggregating(result):
    return {"aggregate": lambda updates, commit: result(commit)}


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        (aggregating(lambda commit: 1 / 0), "aggregate failed for version 1:.*aggregating.*1 / 0.*ZeroDivisionError"),
        (aggregating(lambda commit: np.zeros(3)), r"shape \(3,\); return one of the shape \(4,\)"),
        (aggregating(lambda commit: {"weight": np.zeros((3, 1))}), "the tensors have the shapes.*the model has.*bias"),
        (
            aggregating(lambda commit: np.full(4, np.nan)),
            "the result is nan for parameter 0; all values must be finite",
        ),
        (aggregating(lambda commit: None), "could not|shape"),
        ({"finalize": lambda weights, aggregate, commit: weights * np.inf}, "finalize failed for version 1:.*inf"),
    ],
)
def test_an_exception_ends_the_simulation_with_its_traceback(world, functions, words):
    with pytest.raises(folkmoot.SimulationError, match=f"(?s){words}") as caught:
        world.simulate(**functions)
    assert caught.value.__cause__ is not None
    assert "folkmoot/_functions.py" not in str(caught.value)


MASKS = {"secure_aggregation": {"corrupt_share": 0.1}}
CENTRAL = {"kind": "central", "epsilon": 8.0, "delta": 1e-6}
LOCAL = {"kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0}


def adding(weights, aggregate, commit):
    return weights + aggregate


@pytest.mark.parametrize(
    ("changes", "functions", "words"),
    [
        ({"protection": MASKS}, {"aggregate": median}, "aggregator.kind"),
        ({"privacy": CENTRAL}, {"aggregate": median}, "aggregator.kind"),
        ({"privacy": LOCAL}, {"aggregate": median}, "example counts and losses"),
        ({"privacy": CENTRAL}, {"finalize": adding}, "versions that privacy.kind does not account for"),
        ({"bucketing": {"bucket_size": 2}, **MEDIAN}, {"aggregate": median}, "bucketing"),
        ({"finalizer": {"kind": "fed_exp"}}, {"aggregate": median}, "finalizer.kind"),
    ],
)
def test_functions_are_refused_where_components_are(world, changes, functions, words):
    scheduling = {"kind": "synchronous", "report_goal": 100, "over_selection_factor": 1.0}
    changes = {"aggregator": {"kind": "uniform_mean"}, "scheduling": scheduling, **changes}
    with pytest.raises(folkmoot.SimulationError, match=f"(?s)rules for components also hold for functions.*{words}"):
        world.simulate(changes, {"clients": 100, "partition": {"kind": "iid"}}, **functions)


def test_wrong_arguments_and_programs_are_refused(world, monkeypatch):
    with pytest.raises(folkmoot.BadOptionError, match="aggregate is 'median'; give a function"):
        world.simulate(aggregate="median")
    with pytest.raises(folkmoot.SimulationError, match="gaol"):
        world.simulate({"scheduling": {"kind": "synchronous", "report_gaol": 1}}, aggregate=median)
    monkeypatch.setattr("folkmoot._functions.PROTOCOL", 2)
    with pytest.raises(folkmoot.SimulationError, match="version 1 of the protocol, but this package has version 2"):
        world.simulate(aggregate=median)


def frame(kind, content=b""):
    return struct.pack("<BQ", kind, len(content)) + content


HELLO = frame(1, b'{"protocol": 1}')


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "cannot be reached"),
        (frame(1, b'{"protocol": 9}'), "the version 9 of the protocol in place of 1"),
        (frame(5), "a frame of kind 5 in place of a hello"),
        (HELLO + frame(5, bytes(8)), "a frame of kind 5 with 8 bytes"),
        (HELLO + frame(5, bytes(33)), "a frame of kind 5 with 33 bytes"),
        (HELLO + struct.pack("<BQ", 6, 2**63), "a frame of kind 6 with"),
        (HELLO + frame(4), "a frame of kind 4 with 0 bytes"),
        (HELLO + frame(2, struct.pack("<QQQQ", 0, 8, 0, 4)), "a read of 8 updates from 0"),
        (HELLO + frame(2, struct.pack("<QQQQ", 2**64 - 1, 2, 0, 4)), "a read of 2 updates from"),
        (HELLO + frame(2, struct.pack("<QQQQ", 0, 1, 1, 4)), "4 parameters from 1"),
        (HELLO + frame(5, struct.pack("<dddd", 0, 0, float("inf"), 0)), "inf for parameter 2"),
        (HELLO + frame(6, b"my reason"), "my reason"),
    ],
)
def test_the_program_refuses_what_is_not_in_the_protocol(world, tmp_path, monkeypatch, sent, words):
    arguments = []
    run = folkmoot.simulation._run

    def speak(given, *_):
        done = subprocess.run([*given], input=sent, capture_output=True, check=False)
        arguments.append(done.stderr.decode())
        assert done.returncode != 0
        return run([PROGRAM, "--version"], tmp_path)

    monkeypatch.setattr(folkmoot.simulation, "_run", speak)
    with pytest.raises(ValueError, match="JSON|Expecting"):
        world.simulate(aggregate=median)
    [said] = arguments
    assert words in said


def test_flat_arrays_and_arrays_by_name_are_the_same():
    shapes = {"a": (2, 2), "b": (), "c": (0, 3)}
    commit = Commit(1, shapes, 5, 1, None, None, None)
    flat = np.arange(5.0)
    tensors = commit.tensors(flat)
    assert {name: one.shape for name, one in tensors.items()} == shapes
    assert (commit.flat(tensors) == flat).all() and (commit.flat([0, 1, 2, 3, 4]) == flat).all()
    tensors["a"][0, 0] = 9
    assert flat[0] == 9, "the arrays are views"


def test_a_rollback_begins_without_state(world):
    """The third version is bad, so the fourth is the second again, which no function has made."""
    seen = []

    def jumping(updates, commit):
        seen.append((commit.version, commit.state))
        commit.state = commit.version
        return uniform_mean(updates, commit) if commit.version != 3 else np.full(commit.parameters, 50.0)

    evaluation = {"central": True, "metric": "loss", "every_versions": 1, "rollback_margin": 0.5}
    changes = {"evaluation": evaluation, "stop": {"rounds": 6}}
    done, _ = world.simulate(changes, aggregate=jumping)
    assert seen == [(1, None), (2, 1), (3, 2), (5, None), (6, 5), (7, 6)]
    assert done.rounds[2]["held_out_loss"] > 100 > done.rounds[-1]["held_out_loss"]
