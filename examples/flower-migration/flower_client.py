"""A client as it was written for Flower: logistic regression over one hospital's tumours, with NumPy."""

import sys
from pathlib import Path

import numpy as np
from flwr.client import NumPyClient

TABLE = Path(__file__).parents[1] / "tabular-silo" / "breast_cancer.csv"


class TumourClient(NumPyClient):
    """Trains the weight `[1, 30]` and the bias `[1]` of a logistic regression by gradient descent."""

    def __init__(self, number, hospitals=3):
        table = np.loadtxt(TABLE, delimiter=",", skiprows=1)
        np.random.default_rng(1).shuffle(table)
        own = table[number::hospitals]
        self.x = ((own[:, :-1] - own[:, :-1].mean(0)) / own[:, :-1].std(0)).astype(np.float32)
        self.y = own[:, -1].astype(np.float32)

    def get_parameters(self, config):
        return [np.zeros((1, 30), np.float32), np.zeros(1, np.float32)]

    def fit(self, parameters, config):
        weight, bias = parameters
        for _ in range(config.get("local_steps", 20)):
            error = 1 / (1 + np.exp(-(self.x @ weight[0] + bias[0]))) - self.y
            weight = weight - 0.5 * (error @ self.x)[None, :] / len(self.x)
            bias = bias - 0.5 * error.mean()
        loss, count, metrics = self.evaluate([weight, bias], config)
        return [weight, bias], count, {"loss": loss, **metrics}

    def evaluate(self, parameters, config):
        weight, bias = parameters
        logits = self.x @ weight[0] + bias[0]
        loss = np.logaddexp(0, np.where(self.y > 0.5, -logits, logits)).mean()
        accuracy = ((logits > 0) == (self.y > 0.5)).mean()
        return float(loss), len(self.x), {"accuracy": float(accuracy)}


if __name__ == "__main__":
    from flwr.client import start_client

    start_client(server_address=sys.argv[2], client=TumourClient(int(sys.argv[1])).to_client())
