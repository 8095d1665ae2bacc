"""Typical PyTorch modules, for the tests of exports."""

import torch
from torch import nn


class Text(nn.Module):
    """Reads a sequence of words. It has a second output, which is not trained."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.reader = nn.LSTM(8, 6, batch_first=True)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 20)

    def forward(self, x):
        return self.head(nn.functional.gelu(self.norm(self.reader(self.embedding(x))[0]))), x


class Tied(nn.Module):
    """Two layers with a shared weight, in double precision."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.sigmoid(self.first(x)))


class Attention(nn.Module):
    """Two layers of a transformer, with dropout."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)).mean(1))


class Masked(nn.Module):
    """Classifies the mean of the words that a mask weighs."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, ids, mask):
        weights = mask.unsqueeze(2)
        return self.head((self.embedding(ids) * weights).sum(1) / weights.sum(1))


class Residual(nn.Module):
    """A residual block with batch normalisation and a depthwise convolution."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.normalise = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.normalise(self.first(x)))
        return self.head(self.pool(x + self.second(x)).flatten(1))


class Recurrent(nn.Module):
    """Two bidirectional recurrent layers."""

    def __init__(self):
        super().__init__()
        self.reader = nn.GRU(4, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.reader(x)[0][:, -1])


class Picture(nn.Module):
    """Maps an image to an image."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.normalise = nn.InstanceNorm2d(4, affine=True)
        self.up = nn.ConvTranspose2d(4, 1, 2, stride=2)

    def forward(self, x):
        return self.up(nn.functional.silu(self.normalise(self.down(x))))


def module(kind):
    """A module, an example of its input, and the shape of its output."""
    normalised = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(2), nn.LeakyReLU(), nn.GroupNorm(1, 2), nn.Linear(3, 1))
    return {
        "text": lambda: (Text(), torch.zeros(2, 5, dtype=torch.int64), (5, 20)),
        "tied": lambda: (Tied().double(), torch.zeros(3, 6, dtype=torch.float64), (6,)),
        "normalised": lambda: (normalised, torch.zeros(1, 2, 4), (2, 1)),
        "attention": lambda: (Attention(), torch.zeros(2, 7, dtype=torch.int64), (4,)),
        "residual": lambda: (Residual(), torch.zeros(1, 3, 16, 16), (5,)),
        "recurrent": lambda: (Recurrent(), torch.zeros(1, 5, 4), (2,)),
        "picture": lambda: (Picture(), torch.zeros(1, 1, 8, 8), (1, 8, 8)),
    }[kind]()
