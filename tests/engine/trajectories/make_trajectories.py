#!/usr/bin/env python3
"""Trains the models of examples/models with JAX and records what happens, one JSON file for each case.

    pip install jax onnx onnxruntime
    python3 make_trajectories.py [NAME ...]

The models, losses and optimizers are written by hand in this folder, so that only the initial weights
come from the ONNX file. The forward pass is compared with onnxruntime. The training is repeated in
float64, and in float64 from slightly different weights. If a gradient is discontinuous, as Relu's is at
0, a small error can become a large one. The script rejects a case in which this happens.
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import optimizers
from cases import CASES
from forward import MODELS, is_running
from losses import loss_of
from onnx import numpy_helper

HERE = Path(__file__).parent
EXAMPLE_MODELS = HERE.parents[2] / "examples" / "models"
BATCH_SIZE = 8
STEPS = 50
FORWARD_TOLERANCE = 1e-4
PERTURBATION = 1e-6
PERTURBED_RUNS = 30
DEVIATION_MAX = 2e-4


def main():
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_default_matmul_precision", "highest")
    for name in sys.argv[1:] or CASES:
        make_trajectory(name, CASES[name])


def make_trajectory(name, case):
    """Trains one case, checks that it is insensitive to rounding, and writes its file."""
    path = EXAMPLE_MODELS / f"{case.model}.onnx"
    weights = first_weights(path)
    batches = split_batches(*case.examples())
    compare_forward(case.model, path, weights, batches[0][0])

    take_step = step_of(case)
    result = train(case.plan, take_step, weights, batches)
    with jax.enable_x64(True):
        exact_batches = [widen_batch(batch) for batch in batches]
        exact = train(case.plan, take_step, widen(weights), exact_batches)
        changed = [
            train(case.plan, take_step, perturb(widen(weights), seed), exact_batches) for seed in range(PERTURBED_RUNS)
        ]
    assert result[0].dtype == np.float32 and exact[0].dtype == np.float64
    float64_deviation = deviation(result, exact)
    perturbed_deviation = max(deviation(run, exact) for run in changed)
    numbers = f"float64 {float64_deviation:.1e}, perturbed {perturbed_deviation:.1e}"
    print(f"{name}: loss {result[0][0]:.4f} to {result[0][-1]:.4f}, {numbers}")
    assert max(float64_deviation, perturbed_deviation) <= DEVIATION_MAX, f"{name}: too sensitive"
    write(HERE / f"{name}.json", document(case, batches, result, float64_deviation))


def document(case, batches, result, float64_deviation):
    """Returns the fields of a trajectory's file."""
    features, labels = batches[0]
    losses, weights = result
    return {
        "model": case.model,
        "plan": {**case.plan, "epochs": 1, "batch_size": BATCH_SIZE},
        "batch_size": BATCH_SIZE,
        "feature_shape": list(features.shape[1:]),
        "label_kind": "classes" if labels.dtype == np.int64 else "targets",
        "float64_deviation": rounded(float64_deviation),
        "batches": [{"features": flat(features), "labels": flat(labels)} for features, labels in batches],
        "losses": flat(losses),
        "weights": [summary(key, weight) for key, weight in weights.items()],
    }


def first_weights(path):
    """Reads the initializers in order."""
    tensors = onnx.load(path).graph.initializer
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


def split_batches(features, labels):
    """Splits examples into batches in order."""
    starts = range(0, len(features), BATCH_SIZE)
    return [(features[start : start + BATCH_SIZE], labels[start : start + BATCH_SIZE]) for start in starts]


def compare_forward(model, path, weights, features):
    """Asserts that the hand-written model and onnxruntime agree, both in inference mode."""
    session = onnxruntime.InferenceSession(path)
    (expected,) = session.run(None, {"input": features})
    outputs, _ = MODELS[model]({key: jnp.asarray(weight) for key, weight in weights.items()}, features, False)
    error = np.max(np.abs(np.asarray(outputs) - expected))
    assert expected.shape == outputs.shape and error < FORWARD_TOLERANCE, f"{model}: off by {error}"


def step_of(case):
    """Returns the compiled training step, which accepts weights in float32 and float64."""
    loss = loss_of(case.plan)

    def batch_loss(trained, running, features, labels):
        outputs, changed = MODELS[case.model]({**trained, **running}, features, True)
        return loss(outputs, labels), changed

    @jax.jit
    def take_step(step, trained, running, states, features, labels):
        differentiate = jax.value_and_grad(batch_loss, has_aux=True)
        (value, changed), gradients = differentiate(trained, running, features, labels)
        if "sharpness_aware" in case.plan:
            climbed = optimizers.climb(case.plan["sharpness_aware"]["radius"], trained, gradients)
            _, gradients = differentiate(climbed, running, features, labels)
        trained, states = optimizers.update(case.plan, step, trained, gradients, states)
        return value, trained, {**running, **changed}, states

    return take_step


def train(plan, take_step, weights, batches):
    """Returns the loss before each step, and the weights after the last step."""
    trained = {key: jnp.asarray(weight) for key, weight in weights.items() if not is_running(key)}
    running = {key: jnp.asarray(weight) for key, weight in weights.items() if is_running(key)}
    states = optimizers.first_states(plan, trained)
    losses = []
    for step in range(STEPS):
        features, labels = batches[step % len(batches)]
        value, trained, running, states = take_step(step + 1.0, trained, running, states, features, labels)
        losses.append(np.asarray(value))
    last = {**trained, **running}
    return np.array(losses), {key: np.asarray(last[key]) for key in weights}


def perturb(weights, seed):
    """Changes every weight by about a millionth, far more than rounding does."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return {
        key: weight * (1.0 + PERTURBATION * generator.standard_normal(weight.shape)) for key, weight in weights.items()
    }


def widen(weights):
    """Returns the weights in double precision."""
    return {key: weight.astype(np.float64) for key, weight in weights.items()}


def widen_batch(batch):
    """Returns the features, and the labels if they are float, in double precision."""
    features, labels = batch
    return features.astype(np.float64), labels if labels.dtype == np.int64 else labels.astype(np.float64)


def deviation(run, exact):
    """Returns the largest relative difference between two runs, over all losses and weights.

    The difference of a weight is the norm of the difference divided by the weight's norm. The difference of a loss is
    relative to the loss, or to a hundredth of the largest loss if that is larger.
    """
    losses, exact_losses = run[0], exact[0]
    sizes = np.maximum(np.abs(exact_losses), 0.01 * np.max(exact_losses))
    of_weights = [np.linalg.norm(run[1][key] - weight) / np.linalg.norm(weight) for key, weight in exact[1].items()]
    return float(max(np.max(np.abs(losses - exact_losses) / sizes), *of_weights))


def summary(name, weight):
    """Returns the parts of a weight that a test compares: its sum, its norm and its first values."""
    exact = weight.astype(np.float64)
    return {
        "name": name,
        "sum": rounded(exact.sum()),
        "norm": rounded(np.linalg.norm(exact)),
        "first": flat(weight.reshape(-1)[:8]),
    }


def flat(values):
    """Returns an array as a list of numbers that keep every bit of a float32."""
    numbers = values.reshape(-1)
    return numbers.tolist() if numbers.dtype == np.int64 else [rounded(number) for number in numbers]


def rounded(number):
    """Rounds to float32, and to the nine decimal digits that identify a float32."""
    return float(f"{float(np.float32(number)):.9g}")


def write(path, fields):
    """Writes one line for each field, each batch and each weight."""
    lines = []
    for key, value in fields.items():
        text = json.dumps(value)
        if key in ("batches", "weights"):
            text = "[\n    " + ",\n    ".join(json.dumps(item) for item in value) + "\n  ]"
        lines.append(f"  {json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
