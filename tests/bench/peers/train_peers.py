#!/usr/bin/env python3
"""Measures a training step of a peer for `cargo xtask bench train --with-peers`, on one thread of one core.

The benchmark starts it once for each peer and model, with a folder that contains model.onnx, weights.f32,
features.f32 and labels.i32. The script prints one JSON object: the CPU milliseconds of a step, the loss of the last
checked step, the peak memory of the process and the peer's version; or the name of a missing module.
"""

import argparse
import importlib.util
import json
import os
import resource
import sys
import time
import types
from pathlib import Path

BATCH_SIZE = 32
REPETITIONS = 7
REPETITION_SECONDS = 0.5
WARM_UP_SECONDS = 0.3
WARM_UP_STEPS = 3

SHAPES = {
    "2nn": [(200, 784), (200,), (200, 200), (200,), (10, 200), (10,)],
    "cnn": [(32, 1, 5, 5), (32,), (64, 32, 5, 5), (64,), (512, 3136), (512,), (10, 512), (10,)],
}


def main():
    arguments = parse_arguments()
    stay_on_one_core()
    try:
        step, version = PEERS[arguments.peer](arguments)
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))
        return
    for _ in range(arguments.checked_steps):
        loss = step()
    report = {
        "cpu_ms": cpu_milliseconds(step),
        "loss": loss,
        "peak_memory_mib": peak_memory_mib(),
        "version": version,
    }
    print(json.dumps(report))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=sorted(PEERS), required=True)
    parser.add_argument("--model", choices=sorted(SHAPES), required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--checked-steps", type=int, required=True)
    return parser.parse_args()


def stay_on_one_core():
    """Pins the process to one core, so that libraries start one thread. Elsewhere, only their settings limit them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def cpu_milliseconds(step):
    """Returns the CPU time of a step over all threads, in the fastest repetition."""
    started, steps = time.perf_counter(), 0
    while steps < WARM_UP_STEPS or time.perf_counter() - started < WARM_UP_SECONDS:
        step()
        steps += 1
    count = max(1, round(REPETITION_SECONDS * steps / (time.perf_counter() - started)))
    times = []
    for _ in range(REPETITIONS):
        before = time.process_time()
        for _ in range(count):
            step()
        times.append((time.process_time() - before) * 1e3 / count)
    return min(times)


def peak_memory_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def batch(folder):
    import numpy

    features = numpy.fromfile(folder / "features.f32", dtype="<f4").reshape(BATCH_SIZE, -1)
    return features, numpy.fromfile(folder / "labels.i32", dtype="<i4")


def onnxruntime_training(arguments):
    """Training artifacts generated from the ONNX file, with the library's own loss and SGD."""
    import onnx
    import onnxruntime

    allow_training_without_torch(onnxruntime)
    from onnxruntime.training import artifacts
    from onnxruntime.training.api import CheckpointState, Module, Optimizer

    model = onnx.load(arguments.folder / "model.onnx")
    float32 = onnx.TensorProto.FLOAT
    trained = [tensor.name for tensor in model.graph.initializer if tensor.data_type == float32]
    artifacts.generate_artifacts(
        model,
        requires_grad=trained,
        loss=artifacts.LossType.CrossEntropyLoss,
        optimizer=artifacts.OptimType.SGD,
        artifact_directory=str(arguments.folder),
    )

    def path(name):
        return str(arguments.folder / name)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    state = CheckpointState.load_checkpoint(path("checkpoint"))
    module = Module(path("training_model.onnx"), state, path("eval_model.onnx"), "cpu", session_options=options)
    optimizer = Optimizer(path("optimizer_model.onnx"), module)
    optimizer.set_learning_rate(arguments.learning_rate)
    module.train()
    features, labels = batch(arguments.folder)
    labels = labels.astype("int64")

    def step():
        loss = module(features, labels)
        optimizer.step()
        module.lazy_reset_grad()
        return float(loss)

    return step, onnxruntime.__version__


def allow_training_without_torch(onnxruntime):
    """Replaces the package's initialisation, which imports torch for parts that this script does not use."""
    if importlib.util.find_spec("torch") is not None:
        return
    folder = Path(onnxruntime.__file__).parent / "training"
    if not folder.is_dir():
        raise ModuleNotFoundError(name="onnxruntime.training")
    package = types.ModuleType("onnxruntime.training")
    package.__path__ = [str(folder)]
    sys.modules["onnxruntime.training"] = package


def jax(arguments):
    """The hand-written model, compiled as one function that updates the weights in place."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import numpy

    flat = numpy.fromfile(arguments.folder / "weights.f32", dtype="<f4")
    shapes = SHAPES[arguments.model]
    ends = numpy.cumsum([int(numpy.prod(shape)) for shape in shapes])
    pieces = numpy.split(flat, ends[:-1])
    weights = [jnp.asarray(piece.reshape(shape)) for piece, shape in zip(pieces, shapes)]
    features, labels = (jnp.asarray(array) for array in batch(arguments.folder))

    def dense(weight, bias, value):
        return value @ weight.T + bias

    def convolution(weight, bias, value):
        sums = jax.lax.conv_general_dilated(value, weight, (1, 1), [(2, 2), (2, 2)])
        window = (1, 1, 2, 2)
        activated = jax.nn.relu(sums + bias[None, :, None, None])
        return jax.lax.reduce_window(activated, -jnp.inf, jax.lax.max, window, window, "VALID")

    def logits(weights, value):
        layers = list(zip(weights[::2], weights[1::2]))
        if arguments.model == "cnn":
            value = value.reshape(-1, 1, 28, 28)
            for layer in layers[:2]:
                value = convolution(*layer, value)
            value, layers = value.reshape(value.shape[0], -1), layers[2:]
        for layer in layers[:-1]:
            value = jax.nn.relu(dense(*layer, value))
        return dense(*layers[-1], value)

    def loss_of(weights, features, labels):
        logarithms = jax.nn.log_softmax(logits(weights, features))
        return -jnp.mean(jnp.take_along_axis(logarithms, labels[:, None], axis=1))

    def update(weights, features, labels):
        loss, gradients = jax.value_and_grad(loss_of)(weights, features, labels)
        return loss, [weight - arguments.learning_rate * slope for weight, slope in zip(weights, gradients)]

    update = jax.jit(update, donate_argnums=0)

    def step():
        nonlocal weights
        loss, weights = update(weights, features, labels)
        return float(jax.block_until_ready(loss))

    return step, jax.__version__


PEERS = {"onnxruntime-training": onnxruntime_training, "jax": jax}

if __name__ == "__main__":
    main()
