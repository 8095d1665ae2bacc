#!/usr/bin/env python3
"""Measures what functions of your own cost in a simulation: 50 updates of a million parameters, read in different ways.

    FOLKMOOT_PROGRAM=target/release/folkmoot python3 tests/bench_functions.py

Each way runs in its own process, so that its peak memory is its own.
"""

import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import folkmoot
import numpy as np
from small_task import linear_model

CLIENTS, ROUNDS, WIDTH = 50, 3, 1000


def one_by_one(updates, commit):
    total = np.zeros(commit.parameters)
    for update in updates:
        total += update.flat
    return total / len(updates)


def in_tiles(updates, commit):
    total = np.empty(commit.parameters)
    for first, rows in updates.tiles():
        total[first : first + rows.shape[1]] = rows.mean(axis=0)
    return total


def all_at_once(updates, commit):
    return updates.rows().mean(axis=0)


def flowers_average(updates, commit):
    from folkmoot.flower import FlowerStrategy

    global flower
    if commit.version == 1:
        from flwr.server.strategy import FedAvg

        flower = FlowerStrategy(FedAvg())
    return flower.aggregate(updates, commit)


WAYS = {
    "no function, mean": (None, "uniform_mean"),
    "no function, median": (None, "median"),
    "one by one": (one_by_one, "uniform_mean"),
    "in tiles": (in_tiles, "uniform_mean"),
    "all at once": (all_at_once, "uniform_mean"),
    "FedAvg of Flower": (flowers_average, "uniform_mean"),
}


def peak_mib(who):
    return round(resource.getrusage(who).ru_maxrss / 1024)


def run(way, answers):
    """Runs a way and puts its figures into a queue: seconds in the function and in all for each round, and peak memories."""
    function, aggregator = WAYS[way]
    inside = []

    def timed(updates, commit):
        begun = time.perf_counter()
        result = function(updates, commit)
        inside.append(time.perf_counter() - begun)
        return result

    task = {
        "name": "wide",
        "population": "wide",
        "plan": {
            "loss": "mean_squared_error",
            "epochs": 1,
            "batch_size": 8,
            "optimizer": {"sgd": {"learning_rate": 0.01}},
        },
        "scheduling": {"kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0},
        "aggregator": {"kind": aggregator},
        "stop": {"rounds": ROUNDS},
    }
    generator = np.random.default_rng(1)
    data = generator.normal(size=(CLIENTS, WIDTH)).astype("f4"), generator.normal(size=(CLIENTS, WIDTH)).astype("f4")
    world = {"clients": CLIENTS, "held_out_share": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        zeros = np.zeros((WIDTH, WIDTH), np.float32), np.zeros(WIDTH, np.float32)
        model = linear_model(Path(folder) / "model.onnx", *zeros)
        before = peak_mib(resource.RUSAGE_SELF)
        given = {} if function is None else {"aggregate": timed}
        done = folkmoot.simulate(task, model, data, world=world, **given)
    answers.put(
        {
            "seconds_a_round": round(done.summary["seconds"] / ROUNDS, 2),
            "of_these_in_the_function": round(sum(inside) / ROUNDS, 2),
            "python_mib_more": peak_mib(resource.RUSAGE_SELF) - before,
            "program_mib": peak_mib(resource.RUSAGE_CHILDREN),
        }
    )


def main():
    measured = {}
    fresh = multiprocessing.get_context("spawn")
    for way in WAYS:
        answers = fresh.Queue()
        process = fresh.Process(target=run, args=(way, answers))
        process.start()
        measured[way] = answers.get()
        process.join()
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
