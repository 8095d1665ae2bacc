"""Four batches of eight examples for each model. The data is real if a small real set fits, else synthetic.

Every function returns features `[32, ...]` as float32, and labels: integer classes or float32 targets.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DIGITS = HERE.parents[2] / "examples" / "digits" / "digits.csv"
EXAMPLES = 32

ALPHABET = "abcdefghijklmnopqrstuvwxyz .,;'-"
TEXT = (
    "the model comes to the data, learns a little, and goes home. nobody sends the data; the devices send "
    "what they have learned, and the coordinator adds it up. a round is short, a device may leave, and the "
    "next round starts from what the last one knew. when the loss no longer falls, the work is done."
)


def breast_cancer():
    """Standardised features, and 1 for benign."""
    table = np.loadtxt(HERE / "breast_cancer.csv", delimiter=",", skiprows=1)
    features, benign = table[:, :-1], table[:, -1:]
    standardised = (features - features.mean(axis=0)) / features.std(axis=0)
    return standardised.astype(np.float32), benign.astype(np.float32)


def digits():
    """Pixels of 0 to 16, and the digit."""
    table = np.loadtxt(DIGITS, delimiter=",", max_rows=EXAMPLES)
    return table[:, :64].astype(np.float32), table[:, 64].astype(np.int64)


def noisy_digits():
    """Digits with noise, so that all pixels differ.

    In blank areas of an image, many activations of a convolution are equal. They cross a kink of Relu or
    MaxPool together, and the trajectory then depends on rounding. With the chosen seed, no activation comes
    close to a kink.
    """
    pixels, labels = digits()
    noise = np.random.Generator(np.random.PCG64(22)).uniform(0.0, 4.0, pixels.shape)
    return np.round(pixels + noise, 2).astype(np.float32), labels


def digits_to_digits():
    """Pixels of 0 to 1, as features and as targets."""
    pixels = digits()[0] / np.float32(16.0)
    return pixels, pixels


def text():
    """Sixteen characters, and the sixteen that follow each of them."""
    tokens = np.array([ALPHABET.index(letter) for letter in TEXT])
    starts = np.arange(EXAMPLES) * 8
    windows = np.stack([tokens[start : start + 17] for start in starts])
    return windows[:, :-1].astype(np.float32), windows[:, 1:]


def waves():
    """Readings of four sensors from one of three waves, and the probability of each wave.

    In a few examples, one wave has probability 1.
    """
    generator = np.random.Generator(np.random.PCG64(1))
    kinds = np.arange(EXAMPLES) % 3
    phases = generator.uniform(0.0, 1.5, (EXAMPLES, 1, 1))
    angles = (kinds[:, None, None] + 1.0) * np.arange(12)[None, :, None] / 2.0 + np.arange(4) * 0.7 + phases
    readings = np.sin(angles) + generator.normal(0.0, 0.1, angles.shape)
    sureness = np.where(np.arange(EXAMPLES) % 4 == 0, 1.0, generator.uniform(0.6, 0.9, EXAMPLES))
    targets = np.where(kinds[:, None] == np.arange(3), sureness[:, None], (1.0 - sureness[:, None]) / 2.0)
    return readings.astype(np.float32), targets.astype(np.float32)


def tastes():
    """Pairs of a user and an item, and 1 if both have the same of two tastes. Users and items recur."""
    generator = np.random.Generator(np.random.PCG64(2))
    users, items = generator.integers(0, 50, EXAMPLES), generator.integers(0, 80, EXAMPLES)
    users[1::4], items[2::4] = users[0::4], items[0::4]
    likes = (users % 2 == items % 2).astype(np.float32)
    return np.stack([users, items], axis=1).astype(np.float32), likes[:, None]
