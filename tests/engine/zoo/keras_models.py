"""Models of Keras 3 on PyTorch, and the files of `Model.export(format="onnx")`."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import logging
import warnings
from dataclasses import dataclass

import exporters
import keras
import record
import torch
from entry import classes, numbers, targets, tokens
from keras import layers
from training import DEVIATION_MAX, LOSSES, PERTURBATION, PERTURBED_RUNS, STEPS, deviation

BATCH = 4


@dataclass(frozen=True)
class KerasModel:
    """Layers, the shape of an example, and functions that return features and labels."""

    name: str
    shape: tuple
    layers: list
    features: object
    labels: object
    loss: str = "softmax_cross_entropy"
    rate: float = 0.1


def of_numbers(name, shape, parts, count=3):
    return KerasModel(name, shape, parts, numbers(*shape), classes(count))


MODELS = [
    of_numbers("keras_perceptron", (6,), lambda: [layers.Dense(8, activation="relu"), layers.Dense(3)]),
    of_numbers(
        "keras_convolution",
        (8, 8, 1),
        lambda: [
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(3),
        ],
    ),
    of_numbers(
        "keras_separable",
        (8, 8, 2),
        lambda: [
            layers.SeparableConv2D(4, 3, activation="gelu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ],
    ),
    of_numbers(
        "keras_layer_normalization",
        (6,),
        lambda: [layers.Dense(8), layers.LayerNormalization(), layers.Dense(3)],
    ),
    of_numbers(
        "keras_batch_normalization",
        (6,),
        lambda: [layers.Dense(8), layers.BatchNormalization(), layers.ReLU(), layers.Dense(3)],
    ),
    of_numbers("keras_lstm", (5, 3), lambda: [layers.LSTM(6), layers.Dense(3)]),
    of_numbers("keras_gru", (5, 3), lambda: [layers.GRU(6), layers.Dense(3)]),
    KerasModel(
        "keras_text",
        (6,),
        lambda: [layers.Embedding(20, 6), layers.GlobalAveragePooling1D(), layers.Dense(3)],
        tokens(20, 6),
        classes(3),
    ),
    KerasModel(
        "keras_autoencoder",
        (8,),
        lambda: [layers.Dense(3, activation="tanh"), layers.Dense(8)],
        numbers(8),
        targets(8),
        "mean_squared_error",
    ),
]


def write(folder, entry):
    """Writes the training run of a model and its file. Returns the error of the exporter."""
    keras.utils.set_random_seed(1)
    torch.manual_seed(1)
    features, labels = entry.features(), entry.labels()
    is_integer = not features.is_floating_point()
    model = keras.Sequential([keras.Input(entry.shape, dtype="int32" if is_integer else "float32"), *entry.layers()])
    model(features[:BATCH])
    path = folder / "files" / f"{entry.name}.keras.onnx"
    path.unlink(missing_ok=True)
    error = export(model, path)
    start = {one.path: one.value.detach().clone() for one in model.trainable_variables}
    single = train(model, entry, features, labels, start)
    generator = torch.Generator().manual_seed(1)
    for _ in range(PERTURBED_RUNS):
        noise = {key: torch.randn(one.shape, generator=generator) for key, one in start.items()}
        near = {key: one * (1 + PERTURBATION * noise[key]) for key, one in start.items()}
        assert deviation(train(model, entry, features, labels, near), single) <= DEVIATION_MAX, entry.name
    losses, moved = single
    arrays = {key: tensor.numpy() for key, tensor in moved.items()}
    plan = record.plan(entry.loss, entry.rate)
    fields = record.run(entry.name, plan, BATCH, features.numpy(), labels.numpy(), losses, arrays, 0.0)
    record.write(folder / "runs" / f"{entry.name}.json", fields)
    print(f"{entry.name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, {error or path.stat().st_size}", flush=True)
    return {"keras": error}


def export(model, path):
    """Writes the file, and returns the exporter's error."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.export(path, format="onnx", verbose=False)
        except Exception as error:  # An exporter can raise anything.
            return exporters.short(error)
    path.write_bytes(exporters.without_traces(path.read_bytes()))
    return None


def train(model, entry, features, labels, start):
    """Returns the loss before each step, and by how much each trained variable changed."""
    for one in model.trainable_variables:
        one.assign(start[one.path])
    losses = []
    for step in range(STEPS):
        first = step * BATCH % len(features)
        rows = slice(first, first + BATCH)
        values = [one.value for one in model.trainable_variables]
        loss = LOSSES[entry.loss](model(features[rows], training=True), labels[rows])
        losses.append(loss.item())
        for value, gradient in zip(values, torch.autograd.grad(loss, values)):
            value.data -= entry.rate * gradient
    return losses, {one.path: (one.value.detach() - start[one.path]).double() for one in model.trainable_variables}
