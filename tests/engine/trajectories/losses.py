"""The losses of a plan, each the mean over a batch, written with JAX."""

import jax
import jax.numpy as jnp


def softmax_cross_entropy(outputs, classes):
    """-log softmax(logits)[class], over all rows of logits."""
    logits = outputs.reshape(-1, outputs.shape[-1])
    rows = jnp.arange(logits.shape[0])
    return -jnp.mean(jax.nn.log_softmax(logits)[rows, classes.reshape(-1)])


def binary_cross_entropy(outputs, targets):
    """log(1 + e^x) - t x for logits x and targets t of 0 and 1, in an order that keeps small losses precise."""
    lines = jnp.where(outputs > 0.0, outputs, 0.0) - outputs * targets
    return jnp.mean(lines + jnp.log1p(jnp.exp(-jnp.abs(outputs))))


def mean_squared_error(outputs, targets):
    return jnp.mean((outputs - targets) ** 2)


def mean_absolute_error(outputs, targets):
    return jnp.mean(jnp.abs(outputs - targets))


def huber(outputs, targets, delta):
    """Half the squared error up to delta, linear beyond (the Huber loss)."""
    size = jnp.abs(outputs - targets)
    return jnp.mean(jnp.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta)))


def hinge(outputs, targets):
    """max(0, 1 - s y) for scores s, where the targets 0 and 1 mean y = -1 and y = 1."""
    margins = 1.0 - outputs * (2.0 * targets - 1.0)
    return jnp.mean(jnp.where(margins > 0.0, margins, 0.0))


def kl_divergence(outputs, targets):
    """Sum of t (log t - log softmax(logits)) over the last axis, where 0 log 0 is 0."""
    entropies = jnp.where(targets > 0.0, targets * jnp.log(jnp.where(targets > 0.0, targets, 1.0)), 0.0)
    return jnp.mean(jnp.sum(entropies - targets * jax.nn.log_softmax(outputs), axis=-1))


def cosine(outputs, targets):
    """1 - cos(output, target), row by row."""
    products = jnp.sum(outputs * targets, axis=-1)
    norms = jnp.linalg.norm(outputs, axis=-1) * jnp.linalg.norm(targets, axis=-1)
    return jnp.mean(1.0 - products / norms)


def generalized_cross_entropy(outputs, classes, q):
    """(1 - p^q) / q for the probability p of the class (Zhang and Sabuncu 2018, equation 6)."""
    logits = outputs.reshape(-1, outputs.shape[-1])
    probabilities = jax.nn.softmax(logits)[jnp.arange(logits.shape[0]), classes.reshape(-1)]
    return jnp.mean((1.0 - probabilities**q) / q)


def symmetric_cross_entropy(outputs, classes, alpha, beta, floor):
    """alpha times cross-entropy plus beta times -sum p log t, where log 0 is floor (Wang et al. 2019, section 4)."""
    logits = outputs.reshape(-1, outputs.shape[-1])
    probabilities = jax.nn.softmax(logits)[jnp.arange(logits.shape[0]), classes.reshape(-1)]
    reverse = -floor * jnp.mean(1.0 - probabilities)
    return alpha * softmax_cross_entropy(outputs, classes) + beta * reverse


def smoothed(loss, share):
    """Cross-entropy, of which the share belongs to the uniform distribution (Szegedy et al. 2016, section 7)."""

    def uniform(outputs):
        return -jnp.mean(jax.nn.log_softmax(outputs))

    return lambda outputs, classes: (1.0 - share) * loss(outputs, classes) + share * uniform(outputs)


def weighted_cross_entropy(outputs, classes, weights):
    """The mean of weight[class] times -log softmax(logits)[class]."""
    rows = jnp.arange(outputs.shape[0])
    return -jnp.mean(jnp.asarray(weights, outputs.dtype)[classes] * jax.nn.log_softmax(outputs)[rows, classes])


LOSSES = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "binary_cross_entropy": binary_cross_entropy,
    "mean_squared_error": mean_squared_error,
    "mean_absolute_error": mean_absolute_error,
    "huber": huber,
    "hinge": hinge,
    "kl_divergence": kl_divergence,
    "cosine": cosine,
    "generalized_cross_entropy": generalized_cross_entropy,
    "symmetric_cross_entropy": symmetric_cross_entropy,
}


def loss_of(plan):
    """Returns the plan's loss as a function of outputs and labels."""
    loss = plan["loss"]
    if "class_weights" in plan:
        return lambda outputs, classes: weighted_cross_entropy(outputs, classes, plan["class_weights"])
    if "label_smoothing" in plan:
        return smoothed(LOSSES[loss], plan["label_smoothing"])
    if isinstance(loss, str):
        return LOSSES[loss]
    ((name, settings),) = loss.items()
    return lambda outputs, labels: LOSSES[name](outputs, labels, **settings)
