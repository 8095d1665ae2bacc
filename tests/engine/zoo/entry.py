"""One model of the zoo: how to build it, its examples and its plan."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Entry:
    """A PyTorch module with random weights, and its training data.

    `features` and `labels` hold one row for each example; `batch` rows make one step. Class labels are integers in the
    shape of the output without its last axis, targets are floats in the shape of the output. `inputs` converts
    rows of features to the module's inputs, if the module does not take the rows themselves. `free_length` is the
    dimension whose size the file leaves free besides the batch.
    """

    build: Callable[[], nn.Module]
    features: Callable[[], torch.Tensor]
    labels: Callable[[], torch.Tensor]
    loss: str = "softmax_cross_entropy"
    batch: int = 4
    rate: float = 0.1
    source: str = "PyTorch"
    inputs: Callable[[torch.Tensor], tuple[torch.Tensor, ...]] = lambda rows: (rows,)
    free_length: int | None = None


class Logits(nn.Module):
    """Returns the logits of a model that returns a record."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input):
        return self.model(input).logits


class Pooled(nn.Module):
    """Classifies the mean of an encoder's states."""

    def __init__(self, model, width, classes):
        super().__init__()
        self.model = model
        self.head = nn.Linear(width, classes)

    def forward(self, input):
        return self.head(self.model(input).last_hidden_state.mean(1))


def images(channels, size, rows=8):
    """Returns images with whole numbers from -2 to 2, so that the file stays small."""
    return lambda: torch.randint(-2, 3, (rows, channels, size, size)).float()


def numbers(*shape, rows=8):
    """Returns whole numbers from -2 to 2 in this shape for each row."""
    return lambda: torch.randint(-2, 3, (rows, *shape)).float()


def tokens(count, length, rows=8):
    """Returns sequences of token ids."""
    return lambda: torch.randint(0, count, (rows, length))


def classes(count, *shape, rows=8):
    """Returns class numbers in this shape for each row."""
    return lambda: torch.randint(0, count, (rows, *shape))


def targets(*shape, rows=8):
    """Returns multiples of a quarter from -1 to 1 in this shape for each row."""
    return lambda: torch.randint(-4, 5, (rows, *shape)).float() / 4


def slim(module, divisor, inputs=3, outputs=4):
    """Divides the width of every layer, so that a model with fixed widths becomes small. Its forward pass stays."""
    for name, part in list(module.named_modules()):
        parent = module.get_submodule(name.rpartition(".")[0])
        narrow = _narrow(part, divisor, inputs, outputs)
        if narrow is not None:
            setattr(parent, name.rpartition(".")[2], narrow)
    return module


def _narrow(part, divisor, inputs, outputs):
    def width(count):
        return count if count in (inputs, outputs) else max(1, count // divisor)

    if isinstance(part, nn.Conv2d):
        before = width(part.in_channels)
        groups = before if part.groups == part.in_channels else part.groups
        return nn.Conv2d(
            before,
            width(part.out_channels),
            part.kernel_size,
            part.stride,
            part.padding,
            part.dilation,
            groups,
            part.bias is not None,
        )
    if isinstance(part, nn.BatchNorm2d):
        return nn.BatchNorm2d(width(part.num_features), part.eps, part.momentum)
    if isinstance(part, nn.Linear):
        return nn.Linear(width(part.in_features), width(part.out_features), part.bias is not None)
    return None
