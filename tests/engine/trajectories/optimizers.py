"""The optimizers of a plan, following PyTorch's definitions, and gradient clipping.

An optimizer is a function of its settings, the step (from 1), one weight, its gradient and its state. It
returns the new weight and the new state. The initial state consists of zeros; `STATES` has their number.
"""

import math

import jax.numpy as jnp


def sgd(settings, step, weight, gradient, state):
    (velocity,) = state
    gradient = gradient + settings["weight_decay"] * weight
    velocity = settings["momentum"] * velocity + gradient
    direction = gradient + settings["momentum"] * velocity if settings["nesterov"] else velocity
    return weight - settings["learning_rate"] * direction, (velocity,)


def adam_step(settings, step, weight, gradient, state):
    """Adam (Kingma and Ba 2015) without weight decay."""
    beta1, beta2 = settings["beta1"], settings["beta2"]
    mean, square = state
    mean = beta1 * mean + (1.0 - beta1) * gradient
    square = beta2 * square + (1.0 - beta2) * gradient**2
    corrected_mean = mean / bias_correction(beta1, step)
    corrected_square = square / bias_correction(beta2, step)
    direction = corrected_mean / (jnp.sqrt(corrected_square) + settings["epsilon"])
    return weight - settings["learning_rate"] * direction, (mean, square)


def bias_correction(beta, step):
    """Returns 1 - beta^step without the loss of precision of a subtraction in float32."""
    return -jnp.expm1(step * math.log(beta))


def adam(settings, step, weight, gradient, state):
    return adam_step(settings, step, weight, gradient + settings["weight_decay"] * weight, state)


def adamw(settings, step, weight, gradient, state):
    """AdamW (Loshchilov and Hutter 2019): weight decay does not enter the moments."""
    decayed = weight - settings["learning_rate"] * settings["weight_decay"] * weight
    return adam_step(settings, step, decayed, gradient, state)


def adagrad(settings, step, weight, gradient, state):
    (square,) = state
    gradient = gradient + settings["weight_decay"] * weight
    square = square + gradient**2
    return weight - settings["learning_rate"] * gradient / (jnp.sqrt(square) + settings["epsilon"]), (square,)


def rmsprop(settings, step, weight, gradient, state):
    square, buffer = state
    gradient = gradient + settings["weight_decay"] * weight
    square = settings["decay"] * square + (1.0 - settings["decay"]) * gradient**2
    buffer = settings["momentum"] * buffer + gradient / (jnp.sqrt(square) + settings["epsilon"])
    return weight - settings["learning_rate"] * buffer, (square, buffer)


def matrix_of(weight):
    """Returns the first dimension above 1 and the product of the others, or None if one of them is 1."""
    rows = next((size for size in weight.shape if size > 1), 1)
    columns = weight.size // rows
    return (rows, columns) if rows > 1 and columns > 1 else None


def muon(settings, step, weight, gradient, state):
    """Muon (Jordan et al. 2024) for matrices with the scale of Liu et al. 2025, and AdamW for other tensors."""
    shape = matrix_of(weight)
    if shape is None:
        return adamw(settings, step, weight, gradient, state)
    momentum = settings["momentum"] * state[0] + gradient
    direction = orthogonal((gradient + settings["momentum"] * momentum).reshape(shape)).reshape(weight.shape)
    update = 0.2 * max(shape) ** 0.5 * direction + settings["weight_decay"] * weight
    return weight - settings["learning_rate"] * update, (momentum, state[1])


def orthogonal(matrix):
    """Five steps of Newton-Schulz on singular values, which the decomposition gives."""
    left, values, right = jnp.linalg.svd(matrix, full_matrices=False)
    values = values / (jnp.sqrt(jnp.sum(values**2)) + 1e-7)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return (left * values) @ right


def adafactor(settings, step, weight, gradient, state):
    """Adafactor (Shazeer and Stern 2018). The means of rows and columns are kept in full shape."""
    shape = matrix_of(weight)
    share = step ** -settings["decay_exponent"]
    squares = gradient**2 + 1e-30
    if shape is None:
        rows = (1.0 - share) * state[0] + share * squares
        columns, estimate = state[1], rows
    else:
        flat = squares.reshape(shape)
        new = [jnp.broadcast_to(flat.mean(axis=axis, keepdims=True), shape) for axis in (1, 0)]
        rows, columns = [(1.0 - share) * old + share * one.reshape(weight.shape) for old, one in zip(state, new)]
        estimate = rows * columns / jnp.mean(rows)
    update = gradient / jnp.sqrt(estimate)
    update = update / jnp.maximum(1.0, root_mean_square(update) / settings["update_max"])
    scale = jnp.maximum(settings["scale_min"], root_mean_square(weight))
    rate = jnp.minimum(settings["learning_rate"], 1.0 / jnp.sqrt(step))
    decayed = settings["learning_rate"] * settings["weight_decay"] * weight
    return weight - scale * rate * update - decayed, (rows, columns)


def root_mean_square(values):
    return jnp.sqrt(jnp.mean(values**2))


OPTIMIZERS = {
    "sgd": sgd,
    "adam": adam,
    "adamw": adamw,
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "muon": muon,
    "adafactor": adafactor,
}
STATES = {"sgd": 1, "adam": 2, "adamw": 2, "adagrad": 1, "rmsprop": 2, "muon": 2, "adafactor": 2}


def clip(plan, gradients):
    """Clips gradients by value, or by their global L2 norm."""
    clipping = plan.get("gradient_clipping", {})
    if "value" in clipping:
        bound = clipping["value"]
        return {name: jnp.clip(gradient, -bound, bound) for name, gradient in gradients.items()}
    if "norm" in clipping:
        norm = jnp.sqrt(sum(jnp.sum(gradient**2) for gradient in gradients.values()))
        factor = jnp.minimum(1.0, clipping["norm"] / norm)
        return {name: gradient * factor for name, gradient in gradients.items()}
    return gradients


def climb(radius, weights, gradients):
    """Returns w + radius g / |g|, where the gradient of sharpness-aware minimisation is (Foret et al. 2021)."""
    norm = jnp.sqrt(sum(jnp.sum(gradient**2) for gradient in gradients.values()))
    return {name: weight + radius * gradients[name] / norm for name, weight in weights.items()}


def first_states(plan, weights):
    """Returns the optimizer's zeros for every trained weight."""
    (name,) = plan["optimizer"]
    return {key: (jnp.zeros_like(weight),) * STATES[name] for key, weight in weights.items()}


def update(plan, step, weights, gradients, states):
    """Performs one step (counted from 1) on every trained weight."""
    ((name, settings),) = plan["optimizer"].items()
    clipped = clip(plan, gradients)
    updated = {key: OPTIMIZERS[name](settings, step, weights[key], clipped[key], states[key]) for key in weights}
    return {key: pair[0] for key, pair in updated.items()}, {key: pair[1] for key, pair in updated.items()}
