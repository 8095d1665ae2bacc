#!/usr/bin/env python3
"""Trains the features on public pictures, and writes the model of the task. See README.md.

python3 make_model.py model.onnx phones.csv
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from folkmoot.export import to_onnx
from mobilenet import MobileNet
from torch import nn

DIGITS = Path(__file__).parents[1] / "digits" / "digits.csv"
PUBLIC = 800
"""The number of public pictures. The others are on the phones."""
PUBLIC_CLASSES = 8
"""Only digits below this number are public, so that the phones have something to teach."""
EPOCHS = 30
SEED = 7


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the ONNX file to write")
    parser.add_argument("phones", help="the CSV file to write, with the pictures that are not public")
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    np.random.default_rng(SEED).shuffle(table)
    public, phones = table[:PUBLIC], table[PUBLIC:]
    public = public[public[:, 64] < PUBLIC_CLASSES]
    network = MobileNet()
    fit(network, torch.from_numpy(public[:, :64].copy()), torch.from_numpy(public[:, 64].astype(np.int64)))
    # The head knows only the public classes. The phones train a new one.
    nn.init.zeros_(network.head.weight)
    nn.init.zeros_(network.head.bias)
    to_onnx(network.eval(), torch.zeros(1, 64), arguments.model)
    np.savetxt(arguments.phones, phones, delimiter=",", fmt="%d")
    sizes = [sum(parameter.numel() for parameter in part.parameters()) for part in (network.features, network.head)]
    print(f"trained on {len(public)} public pictures; {sizes[0]:,} parameters of features, {sizes[1]:,} of the head")


def fit(network, x, y):
    """Trains the whole network centrally."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
