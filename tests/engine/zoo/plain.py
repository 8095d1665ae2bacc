"""Ordinary modules as people write them with `torch.nn`."""

import torch
from entry import Entry, classes, images, numbers, targets, tokens
from torch import nn
from torch.nn import functional as F


class UNet(nn.Module):
    """Two levels with a skip connection; the classes are last, as the loss needs them."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())
        self.bottom = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = nn.Sequential(nn.Conv2d(8, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1))

    def forward(self, x):
        skip = self.down(x)
        return self.last(torch.cat([skip, self.up(self.bottom(skip))], 1)).permute(0, 2, 3, 1)


class UpsamplingUNet(nn.Module):
    """Interpolates instead of a transposed convolution, with batch normalisation."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.bottom = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU()
        )
        self.last = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        skip = self.down(x)
        up = F.interpolate(self.bottom(skip), scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(torch.cat([skip, up], 1))


class CausalBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.first = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        return x + self.second(F.relu(self.first(F.pad(x, (self.pad, 0)))))


class TemporalConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(2, 8, 1)
        self.blocks = nn.Sequential(*[CausalBlock(8, 2**level) for level in range(3)])
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.blocks(self.first(x))[:, :, -1])


class Recurrent(nn.Module):
    """Classifies a series by the last state."""

    def __init__(self, layer, **options):
        super().__init__()
        self.layer = layer(3, 6, batch_first=True, **options)
        self.last = nn.Linear(12 if options.get("bidirectional") else 6, 3)

    def forward(self, x):
        states, _ = self.layer(x)
        return self.last(states[:, -1])


class CharacterLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 6)
        self.layer = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.last = nn.Linear(8, 16)

    def forward(self, x):
        return self.last(self.layer(self.table(x))[0])


class MatrixFactorization(nn.Module):
    """Scores a user and an item, the two numbers of an example."""

    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(10, 4), nn.Embedding(12, 4)
        self.of_user, self.of_item = nn.Embedding(10, 1), nn.Embedding(12, 1)

    def forward(self, x):
        user, item = x[:, 0], x[:, 1]
        product = (self.users(user) * self.items(item)).sum(1, keepdim=True)
        return product + self.of_user(user) + self.of_item(item)


class DeepFactorization(nn.Module):
    """DeepFM: one table for all fields, pairwise products, and a perceptron."""

    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, 5, 10]))
        self.table, self.linear = nn.Embedding(15, 4), nn.Embedding(15, 1)
        self.deep = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        rows = self.table(x + self.offsets)
        pairs = 0.5 * (rows.sum(1) ** 2 - (rows**2).sum(1)).sum(1, keepdim=True)
        return self.linear(x + self.offsets).sum(1) + pairs + self.deep(rows.flatten(1))


class TwoTowers(nn.Module):
    """The cosine of two towers, with a learned temperature."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 6), nn.Linear(4, 6)
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        left, right = F.normalize(self.left(x[:, :4]), dim=1), F.normalize(self.right(x[:, 4:]), dim=1)
        return (left * right).sum(1, keepdim=True) * self.temperature


class TextClassifier(nn.Module):
    """The mean of the words' rows, without padding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 6, padding_idx=0)
        self.last = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        present = (x != 0).unsqueeze(2).float()
        mean = (self.table(x) * present).sum(1) / present.sum(1).clamp(min=1)
        return self.last(mean)


class TextConvolution(nn.Module):
    """Kim's convolution over words, with filters of three widths."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 6)
        self.filters = nn.ModuleList([nn.Conv1d(6, 4, width) for width in (2, 3, 4)])
        self.last = nn.Linear(12, 3)

    def forward(self, x):
        rows = self.table(x).transpose(1, 2)
        return self.last(torch.cat([F.relu(part(rows)).amax(2) for part in self.filters], 1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        states, _ = self.attention(x, x, x, need_weights=False)
        return self.last(states.mean(1))


class EncoderOfWords(nn.Module):
    """The encoder of `torch.nn`, with learned positions and a causal mask."""

    def __init__(self, norm_first):
        super().__init__()
        self.table, self.positions = nn.Embedding(16, 8), nn.Parameter(torch.randn(6, 8) * 0.1)
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=norm_first)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(8, 16)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(6))

    def forward(self, x):
        return self.last(self.layers(self.table(x) + self.positions, mask=self.mask, is_causal=True))


class Squeezed(nn.Module):
    """A block with squeeze and excitation, and PReLU."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.PReLU(8))
        self.gate = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 8), nn.Sigmoid())
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = self.first(x)
        return self.last((x * self.gate(x.mean((2, 3)))[:, :, None, None]).mean((2, 3)))


class Gated(nn.Module):
    """WaveNet's gated convolutions in one dimension."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 4, 1)
        self.layers = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=2**level) for level in range(3)])
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            signal, gate = layer(x).chunk(2, 1)
            x = x[:, :, -signal.size(2) :] + torch.tanh(signal) * torch.sigmoid(gate)
        return self.last(x.mean(2))


class Spectral(nn.Module):
    """A layer in the frequency domain, as in a Fourier neural operator."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5) * 0.5)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=8))


class Forecast(nn.Module):
    """DLinear: a trend by a moving average and the rest, one linear layer each."""

    def __init__(self):
        super().__init__()
        self.average = nn.AvgPool1d(5, 1, 2, count_include_pad=False)
        self.trend, self.rest = nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x):
        trend = self.average(x)
        return (self.trend(trend) + self.rest(x - trend)).flatten(1)


class Residual(nn.Module):
    """A tabular network: standardised columns, residual blocks and layer normalisation."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(3)])
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


def perceptron(*activations):
    layers, width = [], 6
    for activation in activations:
        layers += [nn.Linear(width, 8), activation()]
        width = 8
    return nn.Sequential(*layers, nn.Linear(width, 3))


def normalised_perceptron():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 3))


def autoencoder():
    return nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 8))


def convolutional_autoencoder():
    down = [nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, stride=2, padding=1), nn.ReLU()]
    up = [nn.ConvTranspose2d(4, 4, 2, stride=2), nn.ReLU(), nn.ConvTranspose2d(4, 1, 3, 2, 1, 1)]
    return nn.Sequential(*down, *up)


def volumes():
    layers = [nn.Conv3d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 4, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 3))


def series():
    layers = [nn.Conv1d(2, 6, 5, stride=2), nn.BatchNorm1d(6), nn.ReLU(), nn.Conv1d(6, 6, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 3))


def lenet():
    layers = [nn.Conv2d(1, 4, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3), nn.Tanh(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 3))


def depthwise():
    layers = [nn.Conv2d(1, 4, 3, padding=1), nn.Hardswish(), nn.Conv2d(4, 4, 3, groups=4, padding=1), nn.Hardswish()]
    return nn.Sequential(
        *layers, nn.Conv2d(4, 8, 1), nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    )


def style():
    layers = [nn.ReflectionPad2d(1), nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Upsample(scale_factor=2), nn.Conv2d(4, 1, 3, stride=2, padding=1))


def pixel_shuffle():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ELU(), nn.Conv2d(4, 4, 3, padding=1), nn.PixelShuffle(2))


def three(build, *shape, **options):
    """Three classes from numbers in this shape."""
    return Entry(build, numbers(*shape), classes(3), **options)


ENTRIES = {
    "logistic_regression": three(lambda: nn.Linear(6, 3), 6),
    "perceptron": three(lambda: perceptron(nn.ReLU, nn.ReLU), 6),
    "perceptron_smooth": three(lambda: perceptron(nn.SiLU, nn.Softplus, nn.Mish), 6),
    "perceptron_selu": three(lambda: perceptron(nn.SELU, nn.Softsign, nn.ReLU6), 6),
    "perceptron_batch_norm": three(normalised_perceptron, 6, batch=8),
    "tabular_residual": three(Residual, 6),
    "autoencoder": Entry(autoencoder, numbers(8), targets(8), "mean_squared_error"),
    "convolutional_autoencoder": Entry(
        convolutional_autoencoder, numbers(1, 8, 8), targets(1, 8, 8), "mean_squared_error"
    ),
    "unet": Entry(UNet, images(1, 8), classes(2, 8, 8), rate=0.5),
    "unet_upsampling": Entry(UpsamplingUNet, images(1, 8), targets(1, 8, 8), "mean_squared_error"),
    "temporal_convolution": three(TemporalConvolution, 2, 16),
    "series_convolution": three(series, 2, 16, batch=8),
    "wavenet": Entry(Gated, numbers(1, 16), classes(2)),
    "volumes": three(volumes, 1, 4, 4, 4),
    "lenet": three(lenet, 1, 12, 12),
    "depthwise": three(depthwise, 1, 8, 8),
    "squeeze_excitation": three(Squeezed, 1, 8, 8),
    "style_transfer": Entry(style, images(1, 8), targets(1, 8, 8), "mean_squared_error"),
    "super_resolution": Entry(pixel_shuffle, images(1, 4), targets(1, 8, 8), "mean_squared_error"),
    "rnn": three(lambda: Recurrent(nn.RNN), 5, 3),
    "gru": three(lambda: Recurrent(nn.GRU), 5, 3),
    "lstm": three(lambda: Recurrent(nn.LSTM), 5, 3),
    "lstm_both_ways": three(lambda: Recurrent(nn.LSTM, bidirectional=True), 5, 3),
    "character_lstm": Entry(CharacterLstm, tokens(16, 6), classes(16, 6), rate=0.5),
    "matrix_factorization": Entry(MatrixFactorization, tokens(10, 2), targets(1), "mean_squared_error"),
    "deep_factorization": Entry(DeepFactorization, tokens(5, 3), targets(1), "mean_squared_error", rate=0.02),
    "two_towers": Entry(TwoTowers, numbers(8), targets(1), "mean_squared_error"),
    "text_mean": Entry(TextClassifier, tokens(20, 6), classes(3)),
    "text_convolution": Entry(TextConvolution, tokens(20, 6), classes(3)),
    "attention": three(Attention, 4, 8),
    "encoder_of_words": Entry(lambda: EncoderOfWords(False), tokens(16, 6), classes(16, 6)),
    "encoder_norm_first": Entry(lambda: EncoderOfWords(True), tokens(16, 6), classes(16, 6)),
    "forecast": Entry(Forecast, numbers(1, 16), targets(4), "mean_squared_error"),
    "fourier": Entry(Spectral, numbers(8), classes(2)),
}
