"""The training cases: a model, its examples and a plan. Together, the plans use every loss and optimizer."""

from collections.abc import Callable
from dataclasses import dataclass

import data


@dataclass(frozen=True)
class Case:
    """One trajectory: the model's name, a function that returns its examples, and the plan."""

    model: str
    examples: Callable
    plan: dict


def sgd(learning_rate, momentum=0.0, nesterov=False, weight_decay=0.0):
    settings = {"learning_rate": learning_rate, "momentum": momentum}
    return {"sgd": {**settings, "nesterov": nesterov, "weight_decay": weight_decay}}


def adam(name, learning_rate, epsilon=1e-8, weight_decay=0.0):
    settings = {"learning_rate": learning_rate, "beta1": 0.9, "beta2": 0.999}
    return {name: {**settings, "epsilon": epsilon, "weight_decay": weight_decay}}


def adagrad(learning_rate, epsilon=1e-10, weight_decay=0.0):
    return {"adagrad": {"learning_rate": learning_rate, "epsilon": epsilon, "weight_decay": weight_decay}}


def rmsprop(learning_rate, epsilon=1e-8, momentum=0.0, weight_decay=0.0):
    settings = {"learning_rate": learning_rate, "decay": 0.99, "epsilon": epsilon}
    return {"rmsprop": {**settings, "momentum": momentum, "weight_decay": weight_decay}}


def muon(learning_rate, weight_decay=0.0):
    settings = {"learning_rate": learning_rate, "momentum": 0.95, "beta1": 0.9, "beta2": 0.999}
    return {"muon": {**settings, "epsilon": 1e-8, "weight_decay": weight_decay}}


def adafactor(learning_rate, weight_decay=0.0):
    settings = {"learning_rate": learning_rate, "decay_exponent": 0.8, "update_max": 1.0}
    return {"adafactor": {**settings, "scale_min": 1e-3, "weight_decay": weight_decay}}


def plan(loss, optimizer, clipping=None, **settings):
    clipping = {} if clipping is None else {"gradient_clipping": clipping}
    return {"loss": loss, "optimizer": optimizer, **clipping, **settings}


CASES = {
    "logistic_regression": Case(
        "logistic_regression",
        data.breast_cancer,
        plan("binary_cross_entropy", sgd(0.05, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ),
    "linear_svm": Case(
        "linear_svm",
        data.breast_cancer,
        plan("hinge", adagrad(0.05, weight_decay=0.01)),
    ),
    "mlp": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", sgd(0.05, momentum=0.9, weight_decay=0.001), {"norm": 1.0}),
    ),
    "mlp_generalized": Case(
        "mlp",
        data.digits,
        plan({"generalized_cross_entropy": {"q": 0.7}}, sgd(0.1, momentum=0.9)),
    ),
    "mlp_symmetric": Case(
        "mlp",
        data.digits,
        plan({"symmetric_cross_entropy": {"alpha": 0.1, "beta": 1.0, "floor": -4.0}}, sgd(0.05, momentum=0.9)),
    ),
    "mlp_weighted": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", sgd(0.1, momentum=0.9), class_weights=[index / 4.0 for index in range(10)]),
    ),
    "mlp_smoothed": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", sgd(0.1, momentum=0.9), label_smoothing=0.1),
    ),
    "residual_cnn_batch_norm": Case(
        "residual_cnn_batch_norm",
        data.noisy_digits,
        plan("softmax_cross_entropy", sgd(0.03, momentum=0.5, weight_decay=0.001)),
    ),
    "mlp_sharpness": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", adam("adam", 0.002), sharpness_aware={"radius": 0.1}),
    ),
    "mlp_muon": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", muon(0.002, weight_decay=0.01), {"norm": 1.0}),
    ),
    "mlp_adafactor": Case(
        "mlp",
        data.digits,
        plan("softmax_cross_entropy", adafactor(0.01, weight_decay=0.01), {"norm": 1.0}),
    ),
    "transformer_adafactor": Case(
        "transformer",
        data.text,
        plan("softmax_cross_entropy", adafactor(0.005), {"norm": 1.0}),
    ),
    "transformer_muon": Case(
        "transformer",
        data.text,
        plan("softmax_cross_entropy", muon(0.001), {"norm": 1.0}),
    ),
    "gru_muon": Case(
        "gru",
        data.waves,
        plan("kl_divergence", muon(0.001)),
    ),
    "residual_cnn_group_norm": Case(
        "residual_cnn_group_norm",
        data.noisy_digits,
        plan("softmax_cross_entropy", adam("adam", 0.003, weight_decay=0.01)),
    ),
    "depthwise_cnn": Case(
        "depthwise_cnn",
        data.digits,
        plan("softmax_cross_entropy", rmsprop(0.0005, momentum=0.9, weight_decay=0.001)),
    ),
    "autoencoder": Case(
        "autoencoder",
        data.digits_to_digits,
        plan("mean_squared_error", adam("adam", 0.005)),
    ),
    "autoencoder_huber": Case(
        "autoencoder",
        data.digits_to_digits,
        plan({"huber": {"delta": 0.25}}, sgd(1.0, momentum=0.9, nesterov=True)),
    ),
    "autoencoder_absolute": Case(
        "autoencoder",
        data.digits_to_digits,
        plan("mean_absolute_error", sgd(5.0)),
    ),
    "autoencoder_cosine": Case(
        "autoencoder",
        data.digits_to_digits,
        plan("cosine", adagrad(0.02)),
    ),
    "char_lstm": Case(
        "char_lstm",
        data.text,
        plan("softmax_cross_entropy", adam("adam", 0.005), {"norm": 0.25}),
    ),
    "gru": Case(
        "gru",
        data.waves,
        plan("kl_divergence", sgd(0.2, momentum=0.9), {"value": 0.03}),
    ),
    "transformer": Case(
        "transformer",
        data.text,
        plan("softmax_cross_entropy", adam("adamw", 0.002, weight_decay=0.01), {"norm": 1.0}),
    ),
    "recommender": Case(
        "recommender",
        data.tastes,
        plan("binary_cross_entropy", rmsprop(0.01)),
    ),
}
