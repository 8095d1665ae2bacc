"""A small MobileNetV2 for pictures of 8x8 pixels (Sandler et al. 2018, "MobileNetV2: inverted residuals and linear bottlenecks")."""

from torch import nn

PIXEL_MAX = 16.0
CLASSES = 10
WIDTH = 96
"""The number of features that the head reads."""
BLOCKS = [(1, 16, 1), (4, 24, 2), (4, 24, 1), (4, 40, 2), (4, 40, 1)]
"""For each block: by how much it expands the channels, its output channels, and its stride."""


def convolution(inputs, outputs, size, stride=1, groups=1, is_linear=False):
    """A convolution with batch normalization and, unless it is linear, ReLU6."""
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([] if is_linear else [nn.ReLU6()]))


class InvertedResidual(nn.Module):
    """Expands the channels, filters each of them alone, and projects them to few channels."""

    def __init__(self, inputs, expansion, outputs, stride):
        super().__init__()
        hidden = inputs * expansion
        self.layers = nn.Sequential(
            *([convolution(inputs, hidden, 1)] if expansion > 1 else []),
            convolution(hidden, hidden, 3, stride, groups=hidden),
            convolution(hidden, outputs, 1, is_linear=True),
        )
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.is_residual else self.layers(x)


class MobileNet(nn.Module):
    """Reads a picture of 64 pixels, 0 to 16, and returns 10 logits: `features`, which the phones freeze, and `head`."""

    def __init__(self):
        super().__init__()
        blocks, channels = [], 16
        for expansion, outputs, stride in BLOCKS:
            blocks.append(InvertedResidual(channels, expansion, outputs, stride))
            channels = outputs
        self.features = nn.Sequential(convolution(1, 16, 3), *blocks, convolution(channels, WIDTH, 1))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, pixels):
        pictures = (pixels / PIXEL_MAX).reshape(-1, 1, 8, 8)
        return self.head(self.features(pictures).mean((2, 3)))
