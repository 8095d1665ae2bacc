#!/usr/bin/env python3
"""Measures the cost of crossing into the native library: a call, a large update, and the examples.

    python3 tests/bench_crossing.py

Copies are counted from the memory in use in the middle of an update: each copy is as large as the weights.
"""

import json
import resource
import tempfile
import time

import folkmoot
import numpy as np
from folkmoot import _buffers
from folkmoot._native import folkmoot_mobile as native
from folkmoot.trainer import NativeTrainer

PARAMETERS = 10_000_000
CALLS = 20_000
ROUNDS = 7


def median_microseconds(call, calls):
    """Returns the median over several rounds of `calls` calls."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begun) / calls * 1e6)
    return round(sorted(times)[ROUNDS // 2], 2)


class Echo(folkmoot.Trainer):
    """Returns new arrays, as most loops do."""

    def __init__(self, weights):
        self.weights = weights

    def example_count(self):
        return 1

    def train(self, work):
        self.given = work.weights
        return folkmoot.Trained(weights=self.weights, example_count=1, loss=0.0)


class Given:
    """A trainer's inputs, without a coordinator."""

    def __init__(self):
        self.buffer = native.FloatBuffer.zeros(PARAMETERS)

    def weights(self):
        return self.buffer

    def tensors(self):
        return [native.TensorSpec(name="weights", shape=[PARAMETERS])]

    assignment_id = task_id = plan = lambda self: "{}"
    round_number = base_version = lambda self: 1


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def update():
    """Measures an update through a trainer, from the weights given to the weights taken, in milliseconds and copies."""
    trainer = Echo({"weights": np.full(PARAMETERS, 0.5, np.float32)})
    native_trainer, given = NativeTrainer(trainer), Given()
    milliseconds = median_microseconds(lambda: native_trainer.train(given), 1) / 1000
    before = resident_bytes()
    trained = native_trainer.train(given)
    copies = (resident_bytes() - before) / (4 * PARAMETERS)
    assert trained.weights.count() == PARAMETERS
    return {
        "update_milliseconds": round(milliseconds, 1),
        "copies_out_of_the_library": 0 if np.shares_memory(trainer.given["weights"], _view(given)) else 1,
        "copies_into_the_library": round(copies, 2),
    }


def _view(given):
    return _buffers.view(given.buffer, [PARAMETERS])


def main():
    with tempfile.TemporaryDirectory() as state:
        client = folkmoot.Client("https://127.0.0.1:1", state_directory=state, enrolment_token="none")
        library, row = client._native, np.zeros((1, 784), np.float32)
        measured = {
            "status_microseconds": median_microseconds(library.status, CALLS),
            "example_count_microseconds": median_microseconds(client.examples.__len__, CALLS),
            "buffer_of_784_microseconds": median_microseconds(lambda: _buffers.filled(row), CALLS // 4),
            **update(),
        }
        client.close()
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
