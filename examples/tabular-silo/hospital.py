#!/usr/bin/env python3
"""One of three hospitals that train a classifier of tumours together. See README.md.

FOLKMOOT_TOKEN=… python3 hospital.py NUMBER --coordinator https://127.0.0.1:8443 --ca ca.pem
"""

import argparse
import os
from pathlib import Path

import folkmoot
import numpy as np

HOSPITALS = 3
ROUNDS = 10
HELD_OUT = 5  # One patient in HELD_OUT is never trained on.


def patients(number):
    """Returns this hospital's features, standardised by its own means and deviations, and labels: 1 for benign."""
    table = np.loadtxt(Path(__file__).with_name("breast_cancer.csv"), delimiter=",", skiprows=1)
    np.random.default_rng(1).shuffle(table)
    own = table[number::HOSPITALS]
    features, benign = own[:, :-1], own[:, -1]
    return (features - features.mean(0)) / features.std(0), benign


def accuracy(client, x, y):
    """Returns the accuracy of the newest model on this machine."""
    logits = client.predict(x)[:, 0]
    return float(((logits > 0) == (y > 0.5)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, choices=range(HOSPITALS))
    parser.add_argument("--coordinator", required=True)
    parser.add_argument("--ca", required=True)
    arguments = parser.parse_args()

    x, y = patients(arguments.number)
    held_out = np.arange(len(x)) % HELD_OUT == 0
    state = Path(f"hospital-{arguments.number}")
    with folkmoot.Client(
        arguments.coordinator,
        state_directory=state,
        # Needed for the first start. On the command line, other users of the machine would see it.
        enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
        certificate=arguments.ca,
    ) as client:
        client.examples.add(x[~held_out], y[~held_out], labels="classes")
        client.on("round", lambda event: print(f"round {event.round_number}", flush=True))
        client.run(rounds=ROUNDS)
        print(f"accuracy on {held_out.sum()} patients of its own: {accuracy(client, x[held_out], y[held_out]):.3f}")


if __name__ == "__main__":
    main()
