"""Exports linear models and perceptrons of scikit-learn as trainable graphs."""

from __future__ import annotations

import os
from typing import Any

from . import dense, graph
from .graph import Exported, ExportError

CLASSIFIERS = ("LogisticRegression", "SGDClassifier", "LinearSVC")
REGRESSORS = ("LinearRegression", "Ridge", "Lasso", "ElasticNet", "SGDRegressor")
PERCEPTRONS = ("MLPClassifier", "MLPRegressor")
"""The perceptron classes that can be exported, including subclasses."""


def sklearn_to_onnx(estimator: Any, path: str | os.PathLike[str], *, scaler: Any = None, opset: int = 17) -> Exported:
    """Exports a fitted linear model or perceptron as ONNX: `[N, features]` to `[N, outputs]`, with logits or values as
    output.

    Two classes give one output, with the loss `binary_cross_entropy` or `hinge`. More classes give one output each. The
    graph contains no softmax, because it belongs to the loss. `scaler` is a fitted StandardScaler; do not pass one that
    is already in front of the estimator in a Pipeline. The scaler's means and deviations become constants, which are
    not trained. They reveal something about the data they were fitted on, and are sent to all clients. Numbers are
    rounded to float32.

    Raises ExportError if the estimator cannot be exported, and BadOptionError if a package is missing.
    """
    graph.checked_opset(opset)
    graph.needed("sklearn", "pip install scikit-learn")
    numpy = graph.needed("numpy", "pip install numpy")
    scalers, estimator = _steps(estimator)
    if scaler is not None:
        scalers.insert(0, scaler)
    kind = _kind(estimator)
    weights, biases = _layers(estimator, kind, numpy)
    features, outputs = weights[0].shape[1], weights[-1].shape[0]
    target, parameters = dense.write(
        path,
        weights,
        biases,
        activation=estimator.activation if kind == "perceptron" else "identity",
        scales=[_scale(one, features) for one in scalers],
        names=None if kind == "perceptron" else ["linear"],
        opset=opset,
    )
    classes = getattr(estimator, "classes_", None)
    return Exported(target, parameters, _loss(estimator, outputs), None if classes is None else list(classes))


def _scale(scaler: Any, features: int) -> dense.Scale:
    """Returns the mean and the deviation of a fitted scaler. One is None if the scaler does not use it."""
    if not _is_a(scaler, ("StandardScaler",)):
        raise ExportError(
            f"{_name(scaler)} cannot be exported; use a StandardScaler, or transform the examples before you add them"
        )
    _require_fitted(scaler, "n_features_in_")
    if scaler.n_features_in_ != features:
        raise ExportError(
            f"the scaler has {scaler.n_features_in_} features and the estimator {features}; "
            "fit both on the same features"
        )
    return scaler.mean_ if scaler.with_mean else None, scaler.scale_


def _steps(estimator: Any) -> tuple[list[Any], Any]:
    """Returns the scalers before the estimator, and the estimator itself."""
    if not _is_a(estimator, ("Pipeline",)):
        return [], estimator
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    if not steps:
        raise ExportError("the pipeline has no estimator; its last step must be one")
    return steps[:-1], steps[-1]


def _kind(estimator: Any) -> str:
    if _is_a(estimator, PERCEPTRONS):
        return "perceptron"
    if _is_a(estimator, CLASSIFIERS + REGRESSORS):
        return "linear"
    choices = ", ".join(CLASSIFIERS + REGRESSORS + PERCEPTRONS)
    raise ExportError(
        f"{_name(estimator)} cannot be exported; use one of {choices}, alone or in a Pipeline after a StandardScaler. "
        "Trees and nearest neighbours have no gradients"
    )


def _layers(estimator: Any, kind: str, numpy: Any) -> tuple[list[Any], list[Any]]:
    """Returns the weights `[outputs, inputs]` and the biases, if any, from the input to the output."""
    if kind == "perceptron":
        _require_fitted(estimator, "coefs_")
        if estimator.out_activation_ not in ("identity", "logistic", "softmax"):
            raise ExportError(
                f"{_name(estimator)} has the output activation {estimator.out_activation_}, "
                "which no loss of Folkmoot supports; use identity, logistic or softmax"
            )
        return [weight.T for weight in estimator.coefs_], list(estimator.intercepts_)
    _require_fitted(estimator, "coef_")
    weight = numpy.atleast_2d(estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else estimator.coef_)
    if not estimator.fit_intercept:
        return [weight], [None]
    return [weight], [numpy.broadcast_to(numpy.ravel(estimator.intercept_), weight.shape[:1])]


def _loss(estimator: Any, outputs: int) -> str:
    """Returns the loss for a task that continues the estimator's training."""
    if not hasattr(estimator, "classes_"):
        is_absolute = getattr(estimator, "loss", None) == "epsilon_insensitive"
        return "mean_absolute_error" if is_absolute else "mean_squared_error"
    has_margin = getattr(estimator, "loss", None) in ("hinge", "squared_hinge")
    if outputs == 1:
        return "hinge" if has_margin else "binary_cross_entropy"
    # A multi-label perceptron has one output per label.
    is_multilabel = getattr(estimator, "out_activation_", None) == "logistic"
    return "binary_cross_entropy" if is_multilabel else "softmax_cross_entropy"


def _require_fitted(estimator: Any, attribute: str) -> None:
    if not hasattr(estimator, attribute):
        raise ExportError(
            f"{_name(estimator)} is not fitted, so its shapes are unknown; "
            "fit it on a few rows of the right shape, which may be made up"
        )


def _is_a(thing: Any, names: tuple[str, ...]) -> bool:
    """Returns whether `thing` is an instance of one of these scikit-learn classes. Compares names, so that nothing
    needs to be imported.
    """
    kinds = type(thing).__mro__
    return any(kind.__name__ in names and kind.__module__.startswith("sklearn.") for kind in kinds)


def _name(thing: Any) -> str:
    return type(thing).__name__
