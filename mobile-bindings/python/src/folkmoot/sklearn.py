"""Estimators for scikit-learn that are trained in a simulation: what would a model reach if the rows were on many clients?

    from folkmoot.sklearn import FederatedClassifier

    model = FederatedClassifier(clients=20, partition="dirichlet:0.5").fit(x, y)
    print(model.score(x_test, y_test))
    model.to_onnx("model.onnx")

They need scikit-learn 1.6 or newer, NumPy, `onnx`, and the command-line program, which runs the simulation.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import simulation
from ._program import Source
from .errors import BadOptionError
from .export import Exported, dense, weights
from .export.graph import needed

_ADVICE = "pip install numpy onnx 'scikit-learn>=1.6'"

try:
    numpy: Any = needed("numpy", _ADVICE)
    _base: Any = needed("sklearn.base", _ADVICE)
    _multiclass: Any = needed("sklearn.utils.multiclass", _ADVICE)
    _utils: Any = needed("sklearn.utils", _ADVICE)
    _validation: Any = needed("sklearn.utils.validation", _ADVICE)
except BadOptionError as error:
    # The estimators are subclasses of scikit-learn's, so that the module itself cannot be imported.
    raise ImportError(str(error)) from None

__all__ = ["FederatedClassifier", "FederatedRegressor"]

SEED_MAX = 2**31 - 1
"""The largest seed of a simulation that is drawn from `random_state`."""


class _Federated(_base.BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The part that both estimators share."""

    _loss = ""

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (),
        *,
        activation: str = "relu",
        clients: int = 10,
        partition: str = "iid",
        rounds: int = 20,
        epochs: int = 2,
        batch_size: int = 16,
        learning_rate: float = 0.1,
        standardise: bool = True,
        task: Mapping[str, Any] | None = None,
        world: Mapping[str, Any] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        program: Source | None = None,
    ) -> None:
        """Creates an estimator.

        Model: without `hidden_layer_sizes`, it is linear; `activation` is `relu`, `tanh`, `logistic` or `identity`. `standardise`
        scales the features, and the targets of a regression, by their means and deviations over **all** rows. In production,
        clients would have to agree on these numbers. They are constants of the exported model.

        Federation: the rows are divided among `clients` as `partition` says (see `folkmoot.simulate`); there are never more clients
        than rows. In each of `rounds`, every client trains `epochs` on its rows, with batches of `batch_size` and SGD with
        `learning_rate`. `task` has tables of a task file that replace or extend these settings, such as
        `{"aggregator": {"kind": "median"}}`, and `world` has keys of a world file. `random_state` makes a run reproducible.
        `threads` and `program` are those of `folkmoot.simulate`.
        """
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.clients = clients
        self.partition = partition
        self.rounds = rounds
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.standardise = standardise
        self.task = task
        self.world = world
        self.random_state = random_state
        self.threads = threads
        self.program = program

    def to_onnx(self, path: str | os.PathLike[str], *, opset: int = 17) -> Exported:
        """Writes the fitted model as ONNX, which a task can train further: features to logits, or to values.

        The means and deviations of the rows become constants. They reveal something about the rows, and all clients of a task get
        the file.

        Raises ExportError, or BadOptionError if the package `onnx` is missing.
        """
        _validation.check_is_fitted(self)
        layers = [weight.T for weight in self.coefs_]
        scales = [] if self.scale_ is None else [self.scale_]
        target, parameters = dense.write(
            path, layers, self.intercepts_, activation=self.activation, scales=scales, opset=opset
        )
        classes = getattr(self, "classes_", None)
        return Exported(
            target, parameters, self._loss_of(layers[-1].shape[0]), None if classes is None else list(classes)
        )

    def _loss_of(self, outputs: int) -> str:
        raise NotImplementedError

    def _fit(self, x: Any, labels: Any, outputs: int, groups: Any) -> None:
        """Trains on checked rows. Labels are class numbers, or targets `[rows, outputs]`."""
        generator = _utils.check_random_state(self.random_state)
        self._check()
        self.scale_ = _means(x) if self.standardise else None
        scaled = self._scaled(x)
        count = min(self.clients, len(x)) if groups is None else len(numpy.unique(groups))
        with tempfile.TemporaryDirectory(prefix="folkmoot-estimator-") as name:
            folder = Path(name)
            dense.write(
                folder / "model.onnx",
                *_initial(x.shape[1], [*self.hidden_layer_sizes, outputs], generator),
                activation=self.activation,
            )
            data = (scaled, labels) if groups is None else _table(scaled, labels, groups, folder / "data.csv")
            description = self._description(count, outputs)
            if groups is not None and not hasattr(self, "classes_"):
                description["data"] = {"schema": _schema(x.shape[1])}
            done = simulation.simulate(
                description,
                folder / "model.onnx",
                data,
                held_out=data,
                clients=count,
                partition=self.partition if groups is None else "natural",
                group_column=None if groups is None else "group",
                seed=int(generator.randint(SEED_MAX)),
                world=self.world,
                threads=self.threads,
                progress=False,
                output=folder / "output",
                program=self.program,
            )
            trained = {name: array.astype(float) for name, array in weights(folder / "output" / "model.onnx").items()}
        # A temporary folder has been deleted.
        self.history_ = dataclasses.replace(done, output=None)
        names = dense.layers(len(self.hidden_layer_sizes) + 1)
        self.coefs_ = [trained[f"{name}.weight"].T for name in names]
        self.intercepts_ = [trained[f"{name}.bias"] for name in names]
        self.n_iter_ = len(self.history_.rounds)

    def _scaled(self, x: Any) -> Any:
        """Returns the rows as the model reads them."""
        return x if self.scale_ is None else (x - self.scale_[0]) / self.scale_[1]

    def _outputs(self, x: Any) -> Any:
        """Returns the model's outputs `[rows, outputs]` for checked rows."""
        values = self._scaled(x)
        for index, (weight, bias) in enumerate(zip(self.coefs_, self.intercepts_)):
            values = values @ weight + bias
            if index + 1 < len(self.coefs_):
                values = _ACTIVATIONS[self.activation](values)
        return values

    def _check(self) -> None:
        if self.activation not in _ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}; it must be one of {', '.join(_ACTIVATIONS)}")
        for name in ("clients", "rounds", "epochs", "batch_size"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")

    def _description(self, clients: int, outputs: int) -> dict[str, Any]:
        """Returns the task: the estimator's settings, overridden by the settings in `task`."""
        description: dict[str, Any] = {
            "name": "estimator",
            "population": "estimator",
            "plan": {
                "loss": self._loss_of(outputs),
                "epochs": self.epochs,
                "batch_size": self.batch_size,
                "optimizer": {"sgd": {"learning_rate": self.learning_rate}},
            },
            "scheduling": {"kind": "synchronous", "report_goal": clients, "over_selection_factor": 1.0},
            "stop": {"rounds": self.rounds},
        }
        for name, value in (self.task or {}).items():
            is_merged = isinstance(value, Mapping) and name in ("plan", "scheduling", "stop")
            description[name] = {**description[name], **value} if is_merged else value
        return description


class FederatedClassifier(_base.ClassifierMixin, _Federated):  # type: ignore[misc, unused-ignore]
    """Classifies with a linear model or a perceptron that virtual clients train together."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> FederatedClassifier:
        """Trains on the rows of `X` with the classes `y`.

        With `groups`, one number or text a row, each group is a client, and `clients` and `partition` are not used.

        Sets `classes_`, `coefs_` and `intercepts_` (as `MLPClassifier` has them), and `history_`, the rounds of the simulation.
        Its held-out columns are measured on the rows of `X`. Raises SimulationError.
        """
        X, y = _validation.validate_data(self, X, y)
        _multiclass.check_classification_targets(y)
        self.classes_, labels = numpy.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}; a classifier needs at least 2")
        self._fit(X, labels, len(self.classes_) if len(self.classes_) > 2 else 1, _groups(groups, X))
        return self

    def decision_function(self, X: Any) -> Any:
        """Returns the logits `[rows, classes]`; for two classes `[rows]`, above 0 for the second class."""
        _validation.check_is_fitted(self)
        outputs = self._outputs(_validation.validate_data(self, X, reset=False))
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> Any:
        """Returns the probabilities of the classes `[rows, classes]`."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = numpy.stack([numpy.zeros_like(logits), logits], axis=1)
        powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """Returns the most probable class of each row."""
        logits = self.decision_function(X)
        return self.classes_[(logits > 0).astype(int) if logits.ndim == 1 else logits.argmax(axis=1)]

    def _loss_of(self, outputs: int) -> str:
        return "binary_cross_entropy" if outputs == 1 else "softmax_cross_entropy"


class FederatedRegressor(_base.RegressorMixin, _Federated):  # type: ignore[misc, unused-ignore]
    """Predicts a number with a linear model or a perceptron that virtual clients train together."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> FederatedRegressor:
        """Trains on the rows of `X` with the targets `y`, `[rows]`.

        With `groups`, one number or text a row, each group is a client, and `clients` and `partition` are not used.

        Sets `coefs_` and `intercepts_` (as `MLPRegressor` has them), and `history_`, the rounds of the simulation. Its held-out
        columns are measured on the rows of `X`, with standardised targets. Raises SimulationError.
        """
        X, y = _validation.validate_data(self, X, y, y_numeric=True)
        targets = numpy.asarray(y, float)[:, None]
        mean, deviation = _means(targets) if self.standardise else (numpy.zeros(1), numpy.ones(1))
        self._fit(X, (targets - mean) / deviation, 1, _groups(groups, X))
        # The last layer gives values in the units of the targets.
        self.coefs_[-1] = self.coefs_[-1] * deviation
        self.intercepts_[-1] = self.intercepts_[-1] * deviation + mean
        return self

    def predict(self, X: Any) -> Any:
        """Returns the value of each row."""
        _validation.check_is_fitted(self)
        return self._outputs(_validation.validate_data(self, X, reset=False))[:, 0]

    def _loss_of(self, outputs: int) -> str:
        return "mean_squared_error"


_ACTIVATIONS: dict[str, Any] = {
    "relu": lambda values: numpy.maximum(values, 0.0),
    "tanh": numpy.tanh,
    "logistic": lambda values: 0.5 * (1.0 + numpy.tanh(0.5 * values)),
    "identity": lambda values: values,
}


def _means(rows: Any) -> tuple[Any, Any]:
    """Returns the mean and the deviation of each column. A column with one value has the deviation 1."""
    deviation = rows.std(axis=0)
    # Rounding leaves a small deviation where all values are the same.
    is_constant = deviation <= 1e-7 * numpy.abs(rows).max(axis=0)
    return rows.mean(axis=0), numpy.where(is_constant, 1.0, deviation)


def _initial(features: int, sizes: Sequence[int], generator: Any) -> tuple[list[Any], list[Any]]:
    """Returns the first weights and biases: zeros for a linear model, and else uniform ones (Glorot and Bengio 2010, equation 16)."""
    inputs = [features, *sizes[:-1]]
    if len(sizes) == 1:
        return [numpy.zeros((sizes[0], features))], [numpy.zeros(sizes[0])]
    weights = [
        generator.uniform(-1.0, 1.0, (after, before)) * numpy.sqrt(6.0 / (before + after))
        for before, after in zip(inputs, sizes)
    ]
    return weights, [numpy.zeros(after) for after in sizes]


def _groups(groups: Any, rows: Any) -> Any:
    """Checks the groups, and returns the number of each row's group."""
    if groups is None:
        return None
    found = numpy.asarray(groups)
    if found.shape != (len(rows),):
        raise BadOptionError(f"groups has the shape {found.shape}; it must have one entry for each of {len(rows)} rows")
    return numpy.unique(found, return_inverse=True)[1]


def _schema(features: int) -> dict[str, Any]:
    """Returns the schema of a table of targets. Without one, the labels of a table are class numbers."""
    number = {"kind": "number", "mean": 0.0, "deviation": 1.0, "missing": "mean"}
    columns = [{**number, "name": f"x{column}"} for column in range(features)]
    return {"columns": columns, "label": {"kind": "target", "name": "label"}}


def _table(x: Any, labels: Any, groups: Any, path: Path) -> Path:
    """Writes a CSV file, which can name the group of each row."""
    header = ",".join([*(f"x{column}" for column in range(x.shape[1])), "group", "label"])
    columns = [x, groups[:, None], numpy.reshape(labels, (len(x), 1))]
    numpy.savetxt(path, numpy.concatenate(columns, axis=1), delimiter=",", header=header, comments="", fmt="%.9g")
    return path
