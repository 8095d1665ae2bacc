#!/usr/bin/env python3
"""Computes steps of Newton's method with numpy in double precision, with whole Hessians and direct solutions.

    pip install numpy
    python3 make.py

Two clients have half of the examples each. `linear` has the solution of the normal equations for all examples, and `logistic` the
weights after each round in which each client takes damped Newton steps from the mean of both (Gupta et al. 2021, "LocalNewton",
algorithm 1 without line search). Weights are the matrix, row by row, and then the bias.
"""

import csv
import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FEATURES, CLASSES, ROWS, ROUNDS, STEPS = 4, 3, 40, 3, 2
DAMPING, RATE = 0.05, 0.75


def main():
    generator = np.random.default_rng(7)
    features = np.float32(generator.normal(size=(ROWS, FEATURES)) * [1.0, 2.0, 0.5, 1.0])
    truth = generator.normal(size=(CLASSES, FEATURES))
    logits = features @ truth.T + generator.gumbel(size=(ROWS, CLASSES))
    classes = logits.argmax(axis=1)
    targets = np.float32(features @ truth[0] + 0.5 + 0.3 * generator.normal(size=ROWS))
    clients = np.arange(ROWS) % 2
    start = np.float32(0.3 * generator.normal(size=(CLASSES, FEATURES + 1)))
    write_examples("classes.csv", features, classes, clients)
    write_examples("targets.csv", features, targets, clients)

    design = np.hstack([np.float64(features), np.ones((ROWS, 1))])
    linear, *_ = np.linalg.lstsq(design, np.float64(targets), rcond=None)
    weights, rounds = np.float64(start), []
    for _ in range(ROUNDS):
        halves = [(design[clients == client], classes[clients == client]) for client in (0, 1)]
        weights = np.mean([newton(weights, *half) for half in halves], axis=0)
        rounds.append(flat(weights))
    document = {
        "damping": DAMPING,
        "learning_rate": RATE,
        "steps": STEPS,
        "start": flat(start),
        "linear": flat(linear[None, :]),
        "logistic": rounds,
    }
    (HERE / "newton.json").write_text(json.dumps(document, indent=1) + "\n")


def newton(weights, design, classes):
    """Takes damped Newton steps on the mean cross-entropy of one client."""
    for _ in range(STEPS):
        logits = design @ weights.T
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        gradient = (shares - np.eye(CLASSES)[classes]).T @ design / len(design)
        # The Hessian of the cross-entropy by the logits is diag(p) - p p^T for each example.
        by_logits = np.einsum("nk,kl->nkl", shares, np.eye(CLASSES)) - np.einsum("nk,nl->nkl", shares, shares)
        hessian = np.einsum("nkl,ni,nj->kilj", by_logits, design, design) / len(design)
        size = weights.size
        damped = hessian.reshape(size, size) + DAMPING * np.eye(size)
        weights = weights - RATE * np.linalg.solve(damped, gradient.reshape(size)).reshape(weights.shape)
    return weights


def flat(weights):
    """Returns the matrix, and then the bias, which is the last column."""
    return [float(f"{value:.9g}") for value in np.concatenate([weights[:, :-1].ravel(), weights[:, -1]])]


def write_examples(name, features, labels, clients):
    with (HERE / name).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"x{number}" for number in range(FEATURES)] + ["label", "client"])
        for row, label, client in zip(features, labels, clients):
            writer.writerow([repr(float(value)) for value in row] + [repr(label.item()), f"client {client}"])


if __name__ == "__main__":
    main()
