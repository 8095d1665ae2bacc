#!/usr/bin/env python3
"""Writes the larger models for `cargo xtask bench train --with-peers`, and measures a training step of PyTorch.

`write` puts model.onnx with random weights, features.f32 and labels.i32 into a folder, and prints the shape of an
example and the loss of the last checked step in float64. `measure` trains the same model from the same weights on the same batch. Both print one JSON object; if a
module is missing, it has the module's name.
"""

import argparse
import json
import os
import warnings
from pathlib import Path

import train_peers

BATCH_SIZE = train_peers.BATCH_SIZE
SEED = 1
CLASSES = 10
SMALL = {"2nn": [784], "cnn": [784]}
SHAPES = {"resnet18": [3, 64, 64], "mobilenetv2": [3, 64, 64], "transformer": [64, 256], "lstm": [64, 64], **SMALL}


def main():
    arguments = parse_arguments()
    try:
        print(json.dumps({"write": write, "measure": measure}[arguments.action](arguments)))
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "measure"])
    parser.add_argument("--model", choices=sorted(SHAPES), required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--checked-steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def build(name):
    """Returns the module with the weights of the seed, in training mode and without dropout."""
    import torch

    torch.manual_seed(SEED)
    if name == "resnet18":
        from torchvision.models import resnet18

        return resnet18(num_classes=CLASSES)
    if name == "mobilenetv2":
        from torchvision.models import mobilenet_v2

        return mobilenet_v2(num_classes=CLASSES, dropout=0.0)
    return {"transformer": transformer, "lstm": lstm, "2nn": two_nn, "cnn": cnn}[name]()


def two_nn():
    from torch import nn

    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, CLASSES))


def cnn():
    from torch import nn

    def block(channels, filters):
        return [nn.Conv2d(channels, filters, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]

    dense = [nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, CLASSES)]
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), *block(1, 32), *block(32, 64), *dense)


def transformer():
    """Four layers of width 256 with 4 heads and a hidden width of 1,024, and the mean over the positions."""
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.0, activation="gelu", batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.last = nn.Linear(256, CLASSES)

        def forward(self, x):
            return self.last(self.layers(x).mean(1))

    return Classifier()


def lstm():
    """Two layers of width 256 over 64 steps; the last state is classified."""
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.LSTM(64, 256, 2, batch_first=True)
            self.last = nn.Linear(256, CLASSES)

        def forward(self, x):
            return self.last(self.layers(x)[0][:, -1])

    return Classifier()


def write(arguments):
    import numpy
    import onnx
    import torch

    module, shape = build(arguments.model), SHAPES[arguments.model]
    state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    generator = numpy.random.default_rng(SEED)
    features = generator.random((BATCH_SIZE, *shape), dtype=numpy.float32)
    features.tofile(arguments.folder / "features.f32")
    generator.integers(0, CLASSES, BATCH_SIZE, dtype="<i4").tofile(arguments.folder / "labels.i32")
    path = arguments.folder / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            torch.from_numpy(features),
            path,
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}},
            input_names=["input"],
            output_names=["output"],
        )
    # The exporter's tracing changes running statistics.
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name.rpartition(".")[2].startswith("running_"):
            tensor.CopyFrom(onnx.numpy_helper.from_array(state[tensor.name].numpy(), tensor.name))
    onnx.save(model, path)
    return {"shape": shape, "loss": exact_loss(arguments, state)}


def exact_loss(arguments, state):
    """Returns the loss in the last checked step, computed in float64 from the weights of the seed."""
    import torch

    module = build(arguments.model)
    module.load_state_dict(state)
    module = module.double().train()
    features, labels = (torch.from_numpy(array) for array in read(arguments.folder, SHAPES[arguments.model]))
    step = training_step(module, features.double(), labels, arguments.learning_rate)
    return [step() for _ in range(arguments.checked_steps)][-1]


def training_step(module, features, labels, learning_rate):
    """Returns a function that takes a step and returns its loss."""
    import torch

    optimizer = torch.optim.SGD(module.parameters(), learning_rate)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(features), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def measure(arguments):
    import torch

    if arguments.threads == 1:
        train_peers.stay_on_one_core()
    torch.set_num_threads(arguments.threads)
    module = build(arguments.model).train()
    if arguments.model in SMALL:
        load_weights(module, arguments.folder)
    features, labels = (torch.from_numpy(array) for array in read(arguments.folder, SHAPES[arguments.model]))
    step = training_step(module, features, labels, arguments.learning_rate)
    for _ in range(arguments.checked_steps):
        loss = step()
    cpu_ms = train_peers.cpu_milliseconds(step)
    peak = train_peers.peak_memory_mib()
    return {"cpu_ms": cpu_ms, "loss": loss, "peak_memory_mib": peak, "version": torch.__version__}


def load_weights(module, folder):
    """Sets the weights that all executors start with, in the order of the schema."""
    import numpy
    import torch

    flat = torch.from_numpy(numpy.fromfile(folder / "weights.f32", dtype="<f4"))
    torch.nn.utils.vector_to_parameters(flat, module.parameters())


def read(folder, shape):
    import numpy

    features = numpy.fromfile(folder / "features.f32", dtype="<f4").reshape(BATCH_SIZE, *shape)
    return features, numpy.fromfile(folder / "labels.i32", dtype="<i4").astype("int64")


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
