#!/usr/bin/env python3
"""Measures Flower's simulation for `cargo xtask bench simulate`.

The benchmark starts it once, with a folder that contains features.f32, labels.i32 and weights.f32: rows of 784
numbers, a class for each row, and the initial weights of a dense layer, `[10, 784]` and `[10]`. Client i holds the i-th
part of the rows. The script prints one JSON object: the duration of the rounds after the first, the local steps of a
client, the loss of the final weights over all rows, and the versions; or the name of a missing module.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

FEATURES = 784
CLASSES = 10
# The files that this process has read from the folder.
SHARED = {}


def main():
    arguments = parse_arguments()
    started = time.perf_counter()
    # Disable telemetry.
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Libraries print to standard output. Redirect it, because the benchmark reads exactly one line from it.
    standard_output = os.dup(1)
    os.dup2(2, 1)
    try:
        report = measure(arguments)
    except ModuleNotFoundError as error:
        report = {"missing": error.name}
    else:
        report["seconds"] = time.perf_counter() - started
    os.write(standard_output, (json.dumps(report) + "\n").encode())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--cohort", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser.parse_args()


def measure(arguments):
    import flwr
    import numpy
    import ray
    from flwr.app import ArrayRecord
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    folder, clients = arguments.folder, arguments.clients
    client_app, server_app, outcome = ClientApp(), ServerApp(), {}

    @client_app.train()
    def train(message, context):
        return answer(message, piece(folder, clients, context.node_config["partition-id"]), arguments)

    @server_app.main()
    def serve(grid, context):
        while len(list(grid.get_node_ids())) < clients:
            time.sleep(0.01)
        fraction = arguments.cohort / clients
        strategy = FedAvg(fraction_train=fraction, min_train_nodes=arguments.cohort, fraction_evaluate=0.0)
        ends = []

        def note_end(number, arrays):
            ends.append(time.perf_counter())

        first = ArrayRecord(first_weights(folder))
        result = strategy.start(grid, first, num_rounds=arguments.rounds, evaluate_fn=note_end)
        # The first time is before the first round, in which Ray starts its actors. So this time excludes that start.
        outcome["later_rounds_seconds"] = ends[-1] - ends[1]
        outcome["metrics"] = list(result.train_metrics_clientapp.values())
        outcome["weights"] = result.arrays.to_numpy_ndarrays()

    run_simulation(
        server_app=server_app,
        client_app=client_app,
        num_supernodes=clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": arguments.threads, "logging_level": "ERROR"},
        },
    )
    if "weights" not in outcome:
        sys.exit("Flower's server did not finish its rounds")
    features, labels = rows(folder)
    return {
        "later_rounds_seconds": outcome["later_rounds_seconds"],
        "rounds": len(outcome["metrics"]),
        "steps_per_client": float(numpy.mean([metrics["steps"] for metrics in outcome["metrics"]])),
        "loss": float(loss(outcome["weights"], features, labels)),
        "version": f"{flwr.__version__}, ray {ray.__version__}",
    }


def answer(message, held, arguments):
    """One client's part in a round: a pass over its examples in random order, with plain SGD."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

    weights, steps = epoch(message.content["arrays"].to_numpy_ndarrays(), *held, arguments)
    metrics = MetricRecord({"num-examples": len(held[1]), "steps": steps})
    return Message(content=RecordDict({"arrays": ArrayRecord(weights), "metrics": metrics}), reply_to=message)


def epoch(weights, features, labels, arguments):
    import numpy

    weight, bias = (numpy.array(array) for array in weights)
    order = numpy.random.default_rng().permutation(len(labels))
    steps = 0
    for begin in range(0, len(order), arguments.batch_size):
        batch = order[begin : begin + arguments.batch_size]
        x, y = features[batch], labels[batch]
        slope = probabilities(x @ weight.T + bias)
        slope[numpy.arange(len(y)), y] -= 1.0
        slope *= numpy.float32(arguments.learning_rate / len(y))
        weight -= slope.T @ x
        bias -= slope.sum(axis=0)
        steps += 1
    return [weight, bias], steps


def probabilities(logits):
    import numpy

    powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def loss(weights, features, labels):
    import numpy

    found = probabilities(features @ weights[0].T + weights[1])
    return -numpy.log(numpy.maximum(found[numpy.arange(len(labels)), labels], 1e-30)).mean(dtype="float64")


def first_weights(folder):
    import numpy

    flat = numpy.fromfile(folder / "weights.f32", dtype="<f4")
    return [flat[: CLASSES * FEATURES].reshape(CLASSES, FEATURES), flat[CLASSES * FEATURES :]]


def rows(folder):
    """All rows, memory-mapped once in each process, so that no client has to read them again."""
    import numpy

    if not SHARED:
        SHARED["labels"] = numpy.fromfile(folder / "labels.i32", dtype="<i4")
        shape = (len(SHARED["labels"]), FEATURES)
        SHARED["features"] = numpy.memmap(folder / "features.f32", dtype="<f4", mode="r", shape=shape)
    return SHARED["features"], SHARED["labels"]


def piece(folder, clients, client):
    """Returns the examples of a client."""
    features, labels = rows(folder)
    count = len(labels) // clients
    held = slice(client * count, (client + 1) * count)
    return features[held], labels[held]


if __name__ == "__main__":
    main()
