#!/usr/bin/env python3
"""The network that the silos train, and its ONNX file. See README.md.

python3 model.py picture.onnx
"""

import argparse

import torch
from folkmoot.export import to_onnx
from torch import nn

PIXEL_MAX = 16.0
SEED = 20240607


class Picture(nn.Module):
    """Reads a digit of 8x8 grey pixels, 0 to 16: one convolution, dropout, one dense layer; 10 logits."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.2)
        self.dense = nn.Linear(16 * 4 * 4, 10)

    def forward(self, pixels):
        image = (pixels / PIXEL_MAX).reshape(-1, 1, 8, 8)
        pooled = nn.functional.max_pool2d(torch.relu(self.convolution(image)), 2)
        return self.dense(self.dropout(pooled.flatten(1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    torch.manual_seed(SEED)
    exported = to_onnx(Picture(), torch.zeros(1, 64), parser.parse_args().path)
    print(f"{exported.path}: {', '.join(f'{name} {list(shape)}' for name, shape in exported.parameters.items())}")


if __name__ == "__main__":
    main()
