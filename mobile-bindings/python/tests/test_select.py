"""Simulations whose clients a function of one's own draws, with the real program."""

import dataclasses

import folkmoot
import numpy as np
import pytest
from functions_world import CLIENTS, ROUNDS, World

SCHEDULING = {"kind": "synchronous", "report_goal": 3, "minimum_cohort": 3, "over_selection_factor": 1.0}
FEW = {"scheduling": SCHEDULING}
ALL = {"arrival_seconds": 0.0}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def least_often(clients, draw):
    return sorted(clients, key=lambda client: (client.starts, client.key))


def test_a_function_sees_the_clients_and_draws_them(world):
    seen = []

    def watch(clients, draw):
        assert 3 <= len(clients) <= CLIENTS and draw.count == 3
        for client in clients:
            assert client.examples > 0 and client.failures == 0 and client.accepted == client.starts
            assert (client.loss is None) == (client.starts == 0) == (client.last_round is None)
            assert client.last_round is None or 0 < client.last_round < draw.round
            assert client.milliseconds is None or client.milliseconds > 0
        drawn = least_often(clients, draw)[:2]
        seen.append((draw.number, draw.round, draw.version, draw.seed, draw.state, {one.key for one in clients}))
        draw.state = [*(draw.state or []), draw.number]
        # Places and clients may be mixed, and numpy's numbers are numbers.
        others = np.array([one._index for one in clients if one not in drawn])
        return [*drawn, *others]

    done, reached = world.simulate(FEW, ALL, select=watch)
    assert [row["drawn"] for row in done.rounds] == [3] * ROUNDS
    numbers = [one[0] for one in seen]
    assert numbers == [1, 2, 3, 4, 5] == [one[1] for one in seen] == [one[2] + 1 for one in seen]
    assert [one[4] for one in seen] == [None, [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]
    assert len({one[3] for one in seen}) == ROUNDS, "each draw has a seed of its own"
    assert len(set().union(*(one[5] for one in seen))) == CLIENTS, "a client keeps its key"
    seen.clear()
    again, repeated = world.simulate(FEW, ALL, select=watch, threads=1)
    assert again.rounds == done.rounds and repeated.tobytes() == reached.tobytes()


def test_preferred_clients_train(world):
    """Those with the most examples come first, so the others start only while one of these is busy or has not come."""
    starts = {}

    def largest(clients, draw):
        starts.update({client.key: (client.examples, client.starts) for client in clients})
        return sorted(clients, key=lambda client: client.examples, reverse=True)

    world.simulate({**FEW, "stop": {"rounds": 12}}, ALL, select=largest)
    by_size = sorted(starts.values(), reverse=True)
    assert len(by_size) == CLIENTS
    assert sum(count for _, count in by_size[:3]) > sum(count for _, count in by_size[3:])


def test_functions_for_all_parts_go_with_asynchrony_and_crashes(world):
    draws = []

    def select(clients, draw):
        draw.state = (draw.state or 0) + 1
        assert draw.state == draw.number, "a draw that is repeated begins from the same state"
        draws.append(draw.number)
        return least_often(clients, draw)

    def mean(updates, commit):
        return np.mean([update.flat for update in updates], axis=0)

    def add(weights, aggregate, commit):
        return weights + aggregate

    buffered = {"kind": "buffered", "buffer_goal": 3, "concurrency": 4}
    faults = {"coordinator_crash_seconds": 20.0, "coordinator_restart_seconds": 1.0}
    changes = {"scheduling": buffered, "stop": {"rounds": 20}}
    done, _ = world.simulate(changes, {"faults": faults}, select=select, aggregate=mean, finalize=add)
    assert done.summary["crashes"] > 0
    assert sum(row["version"] is not None for row in done.rounds) == 20
    assert sorted(set(draws)) == list(range(1, max(draws) + 1))


@pytest.mark.parametrize(
    ("select", "words"),
    [
        (lambda clients, draw: 1 / 0, "select failed in round 1:.*1 / 0.*ZeroDivisionError"),
        (lambda clients, draw: [0, 1, 0], "a client appears twice"),
        (lambda clients, draw: [0, 1, 99], "there is no client 99; . clients wait"),
        (lambda clients, draw: [-1], "there is no client -1"),
        (lambda clients, draw: [0.5], "float"),
        (lambda clients, draw: None, "iterable"),
    ],
)
def test_a_wrong_draw_ends_the_simulation(world, select, words):
    with pytest.raises(folkmoot.SimulationError, match=f"(?s){words}") as caught:
        world.simulate(FEW, select=select)
    assert caught.value.__cause__ is not None
    assert "folkmoot/_functions.py" not in str(caught.value)


def test_a_client_of_an_earlier_draw_is_refused(world):
    def late(clients, draw):
        assert len(set(clients)) == len(clients), "a client can be in a set"
        # It has the place of a client that waits, and was another one.
        return [dataclasses.replace(clients[0], key=clients[0].key ^ 1)]

    with pytest.raises(folkmoot.SimulationError, match="of an earlier draw"):
        world.simulate(FEW, select=late)


def test_a_draw_may_not_depend_on_private_data(world):
    central = {"kind": "central", "epsilon": 8.0, "delta": 1e-6}
    scheduling = {"kind": "synchronous", "report_goal": 100, "over_selection_factor": 1.0}
    changes = {"privacy": central, "aggregator": {"kind": "uniform_mean"}, "scheduling": scheduling}
    with pytest.raises(folkmoot.SimulationError, match="(?s)rules for components also hold.*selection.kind"):
        world.simulate(changes, {"clients": 100, "partition": {"kind": "iid"}}, select=least_often)
    with pytest.raises(folkmoot.BadOptionError, match="select is 'largest'; give a function"):
        world.simulate(select="largest")
