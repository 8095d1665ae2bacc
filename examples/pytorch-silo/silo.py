#!/usr/bin/env python3
"""One of three silos that train a network together, each in PyTorch's own loop. See README.md.

FOLKMOOT_TOKEN=… python3 silo.py NUMBER --coordinator https://127.0.0.1:8443 --ca ca.pem
"""

import argparse
import os
from pathlib import Path

import folkmoot
import numpy as np
import torch
from model import Picture
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SILOS = 3
ROUNDS = 10
HELD_OUT = 5  # One digit in HELD_OUT is never trained on.
DIGITS = Path(__file__).parents[1] / "digits" / "digits.csv"


class PictureTrainer(folkmoot.Trainer):
    """An ordinary training loop with AdamW, dropout and shuffled batches, around the weights of the assignment."""

    def __init__(self, x, y):
        self.examples = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        self.network = Picture()

    def example_count(self):
        return len(self.examples)

    def train(self, work):
        plan = work.plan["training"]
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in work.weights.items()})
        self.network.train()
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=0.01)
        measured = Measured()
        for _ in range(plan["epochs"]):
            for x, y in DataLoader(self.examples, batch_size=plan["batch_size"], shuffle=True):
                if work.is_stopped:
                    break
                optimizer.zero_grad()
                logits = self.network(x)
                loss = nn.functional.cross_entropy(logits, y)
                loss.backward()
                optimizer.step()
                measured.add(loss, logits, y)
        weights = {name: tensor.numpy() for name, tensor in self.network.state_dict().items()}
        return folkmoot.Trained(weights, len(self.examples), **measured.fields(len(self.examples)))


class Measured:
    """Collects the losses and correct predictions of a training run."""

    def __init__(self):
        self.loss_sum, self.correct, self.seen, self.steps = 0.0, 0, 0, 0

    def add(self, loss, logits, y):
        self.loss_sum += loss.item() * len(y)
        self.correct += int((logits.argmax(1) == y).sum())
        self.seen += len(y)
        self.steps += 1

    def fields(self, example_count):
        """Returns the fields of `Trained`: means over all passes, so that each example counts once."""
        share = self.correct / max(self.seen, 1)
        return {
            "loss": self.loss_sum / max(self.seen, 1),
            "correct_count": round(share * example_count),
            "step_count": self.steps,
        }


def digits(number):
    """Returns this silo's part of the digits: pixels from 0 to 16, and labels."""
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    own = table[number::SILOS]
    return own[:, :64].copy(), own[:, 64].astype(np.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, choices=range(SILOS))
    parser.add_argument("--coordinator", required=True)
    parser.add_argument("--ca", required=True)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.number)
    x, y = digits(arguments.number)
    held_out = np.arange(len(x)) % HELD_OUT == 0
    with folkmoot.Client(
        arguments.coordinator,
        state_directory=f"silo-{arguments.number}",
        # Needed for the first start. On the command line, other users of the machine would see it.
        enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
        certificate=arguments.ca,
        trainer=PictureTrainer(x[~held_out], y[~held_out]),
    ) as client:
        client.on("round", lambda event: print(f"round {event.round_number}", flush=True))
        client.run(rounds=ROUNDS)
        right = client.predict(x[held_out]).argmax(1) == y[held_out]
        print(f"accuracy on {len(right)} digits of its own: {right.mean():.3f}")


if __name__ == "__main__":
    main()
