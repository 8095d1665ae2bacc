"""Estimators of scikit-learn that train by gradient descent, and their files."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import exporters
import numpy as np
import record
from skl2onnx import to_onnx
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

STEPS, ROWS, FEATURES = 20, 8, 4


@dataclass(frozen=True)
class Estimator:
    """An estimator, its batch, and its plan in the engine's terms.

    scikit-learn halves the squared error. So its step is that of half the learning rate, and its loss half of the
    engine's.
    """

    name: str
    build: Callable
    loss: str
    rate: float
    batch: int
    classes: int = 0
    # The value of skl2onnx's file that is trained, if it is not the only output that the loss fits.
    output: str | None = None


def perceptron(kind, activation, rate):
    return kind(
        hidden_layer_sizes=(6,),
        activation=activation,
        solver="sgd",
        momentum=0.0,
        alpha=0.0,
        learning_rate_init=rate,
        random_state=1,
        shuffle=False,
        batch_size=ROWS,
    )


def linear(kind, loss, rate):
    return kind(
        loss=loss, penalty=None, learning_rate="constant", eta0=rate, average=False, random_state=1, shuffle=False
    )


ESTIMATORS = [
    Estimator(
        "mlp_classifier",
        lambda: perceptron(MLPClassifier, "relu", 0.2),
        "softmax_cross_entropy",
        0.2,
        ROWS,
        3,
        "add_result1",
    ),
    Estimator(
        "mlp_classifier_of_two",
        lambda: perceptron(MLPClassifier, "tanh", 0.2),
        "binary_cross_entropy",
        0.2,
        ROWS,
        2,
        "add_result1",
    ),
    Estimator("mlp_regressor", lambda: perceptron(MLPRegressor, "logistic", 0.2), "mean_squared_error", 0.1, ROWS),
    Estimator(
        "sgd_logistic", lambda: linear(SGDClassifier, "log_loss", 0.1), "binary_cross_entropy", 0.1, 1, 2, "score"
    ),
    Estimator("sgd_hinge", lambda: linear(SGDClassifier, "hinge", 0.1), "hinge", 0.1, 1, 2),
    Estimator("sgd_regressor", lambda: linear(SGDRegressor, "squared_error", 0.05), "mean_squared_error", 0.025, 1),
]


def write(folder, estimator):
    """Writes the training run of an estimator, and one file for each exporter. Returns the errors of the exporters."""
    warnings.simplefilter("ignore")
    random = np.random.default_rng(1)
    x = random.integers(-2, 3, (ROWS, FEATURES)).astype(np.float32)
    y = np.arange(ROWS) % estimator.classes if estimator.classes else random.integers(-4, 5, ROWS) / 4
    fitted = estimator.build()
    options = {"classes": np.arange(estimator.classes)} if estimator.classes else {}
    fitted.partial_fit(x[: estimator.batch], y[: estimator.batch], **options)
    errors = {}
    for exporter, export in {"skl2onnx": general, "folkmoot-sklearn": own}.items():
        path = folder / "files" / f"{estimator.name}.{exporter}.onnx"
        path.unlink(missing_ok=True)
        try:
            path.write_bytes(exporters.without_traces(export(fitted, x)))
            errors[exporter] = None
        except Exception as error:  # An exporter can raise anything.
            errors[exporter] = exporters.short(error)
    start, losses = weights(fitted), []
    for step in range(STEPS):
        first = step * estimator.batch % ROWS
        rows = slice(first, first + estimator.batch)
        losses.append(loss(estimator, fitted, x[rows], y[rows]))
        fitted.partial_fit(x[rows], y[rows])
    moved = {name: tensor - start[name] for name, tensor in weights(fitted).items()}
    plan = record.plan(estimator.loss, estimator.rate)
    fields = record.run(estimator.name, plan, estimator.batch, x, y, losses, moved, 0.0)
    record.write(folder / "runs" / f"{estimator.name}.json", fields)
    print(f"{estimator.name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, {errors}", flush=True)
    return errors


def general(fitted, x):
    """The file of skl2onnx, with probabilities as one tensor."""
    options = {"zipmap": False} if hasattr(fitted, "classes_") else {}
    return to_onnx(fitted, x[:1], options={id(fitted): options} if options else None).SerializeToString()


def own(fitted, x):
    path = Path(__file__).parent / "written.onnx"
    try:
        exporters.own().sklearn_to_onnx(fitted, path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def weights(fitted):
    """Returns copies of the trained arrays, under the names that our exporter gives them."""
    if hasattr(fitted, "coefs_"):
        layers = list(zip(fitted.coefs_, fitted.intercepts_))
        return {
            f"layer_{number}.{part}": np.array(array, np.float64)
            for number, (weight, bias) in enumerate(layers, 1)
            for part, array in (("weight", weight.T), ("bias", bias))
        }
    return {
        "linear.weight": np.array(np.atleast_2d(fitted.coef_), np.float64),
        "linear.bias": np.array(fitted.intercept_, np.float64),
    }


def loss(estimator, fitted, x, y):
    """Returns the engine's loss of a batch, before the step."""
    if estimator.loss == "mean_squared_error":
        return float(np.mean((fitted.predict(x) - y) ** 2))
    if estimator.loss == "hinge":
        return float(np.mean(np.maximum(0, 1 - (2 * y - 1) * fitted.decision_function(x))))
    return float(-np.mean(np.log(fitted.predict_proba(x)[np.arange(len(y)), y])))
