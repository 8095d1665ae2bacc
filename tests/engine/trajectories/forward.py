"""The models of examples/models, written by hand with JAX, independently of the ONNX files.

A model is a function of its weights by name, a batch of inputs, and a flag for training. It returns the
outputs and, in training, the new running statistics by name (none for most models).
"""

import jax
import jax.numpy as jnp
from jax import lax

RUNNING = ("running_mean", "running_variance")


def is_running(name):
    """Returns whether a weight is a running statistic, which no optimizer changes."""
    return name.endswith(RUNNING)


def dense(weights, name, value):
    return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def linear(weights, name, value):
    return value @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def relu(value):
    return jnp.where(value > 0.0, value, 0.0)


def erf_gelu(value):
    return 0.5 * value * (1.0 + lax.erf(value / jnp.sqrt(2.0).astype(value.dtype)))


def logistic_regression(weights, inputs, training):
    return dense(weights, "logit", inputs), {}


def linear_svm(weights, inputs, training):
    return linear(weights, "score", inputs), {}


def mlp(weights, inputs, training):
    hidden = erf_gelu(dense(weights, "hidden", inputs / 16.0))
    return dense(weights, "logits", hidden), {}


def convolution(weights, name, value, stride=1, groups=1):
    """A convolution of `[N, channels, height, width]`, padded to keep the size at stride 1."""
    weight = weights[f"{name}.weight"]
    padding = [(weight.shape[2] // 2,) * 2] * 2
    layout = ("NCHW", "OIHW", "NCHW")
    result = lax.conv_general_dilated(
        value, weight, (stride, stride), padding, dimension_numbers=layout, feature_group_count=groups
    )
    bias = weights.get(f"{name}.bias")
    return result if bias is None else result + bias[:, None, None]


def batch_norm(weights, name, value, training):
    """Normalises each channel (Ioffe and Szegedy 2015); keeps 0.9 of the running statistics."""
    running_names = [f"{name}.{kind}" for kind in RUNNING]
    running = [weights[key] for key in running_names]
    mean, variance = running
    changed = {}
    if training:
        mean = jnp.mean(value, axis=(0, 2, 3))
        variance = jnp.mean((value - mean[:, None, None]) ** 2, axis=(0, 2, 3))
        new = [0.9 * old + 0.1 * batch for old, batch in zip(running, (mean, variance))]
        changed = dict(zip(running_names, new))
    normal = (value - mean[:, None, None]) / jnp.sqrt(variance[:, None, None] + 1e-5)
    scale, bias = weights[f"{name}.scale"], weights[f"{name}.bias"]
    return normal * scale[:, None, None] + bias[:, None, None], changed


def group_norm(weights, name, value, training):
    """Normalises each half of an example's channels (Wu and He 2018)."""
    groups = value.reshape(value.shape[0], 2, -1)
    mean = jnp.mean(groups, axis=-1, keepdims=True)
    variance = jnp.mean((groups - mean) ** 2, axis=-1, keepdims=True)
    normal = ((groups - mean) / jnp.sqrt(variance + 1e-5)).reshape(value.shape)
    scale, bias = weights[f"{name}.scale"], weights[f"{name}.bias"]
    return normal * scale[:, None, None] + bias[:, None, None], {}


def max_pool(value):
    """The maximum of each 2x2 window. If several elements are equal, the first gets the gradient."""
    count, channels, height, width = value.shape
    windows = value.reshape(count, channels, height // 2, 2, width // 2, 2)
    windows = windows.transpose(0, 1, 2, 4, 3, 5).reshape(count, channels, height // 2, width // 2, 4)
    first = jnp.argmax(windows, axis=-1, keepdims=True)
    return jnp.take_along_axis(windows, first, axis=-1)[..., 0]


def residual_cnn(normalize):
    """Returns the residual network with one kind of normalization."""

    def forward(weights, inputs, training):
        changed = {}

        def block(name, value):
            value = convolution(weights, f"{name}.convolution", value)
            value, statistics = normalize(weights, f"{name}.normalization", value, training)
            changed.update(statistics)
            return value

        stem = relu(block("stem", inputs.reshape(-1, 1, 8, 8) / 16.0))
        second = block("block.2", relu(block("block.1", stem)))
        pooled = max_pool(relu(second + stem))
        return dense(weights, "logits", jnp.mean(pooled, axis=(2, 3))), changed

    return forward


def hard_swish(value):
    return value * jnp.clip(value / 6.0 + 0.5, 0.0, 1.0)


def depthwise_cnn(weights, inputs, training):
    value = hard_swish(convolution(weights, "stem", inputs.reshape(-1, 1, 8, 8) / 16.0))
    for block in ("block.1", "block.2"):
        value = hard_swish(convolution(weights, f"{block}.depthwise", value, 2, value.shape[1]))
        value = hard_swish(convolution(weights, f"{block}.pointwise", value))
    return dense(weights, "logits", jnp.mean(value, axis=(2, 3))), {}


def transposed_convolution(weights, name, value):
    """A transposed convolution of kernel 4, stride 2 and padding 1.

    It inserts zeros between the inputs and flips the weights.
    """
    weight = weights[f"{name}.weight"].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    layout = ("NCHW", "OIHW", "NCHW")
    result = lax.conv_general_dilated(
        value, weight, (1, 1), [(2, 2), (2, 2)], lhs_dilation=(2, 2), dimension_numbers=layout
    )
    return result + weights[f"{name}.bias"][:, None, None]


def autoencoder(weights, inputs, training):
    code = jnp.tanh(dense(weights, "encoder", inputs))
    hidden = jnp.tanh(dense(weights, "decoder", code))
    image = transposed_convolution(weights, "upsampling", hidden.reshape(-1, 4, 4, 4))
    return jax.nn.sigmoid(image).reshape(-1, 64), {}


def char_lstm(weights, inputs, training):
    """An LSTM (Hochreiter and Schmidhuber 1997), whose gates are input, output, forget and cell."""
    embedded = weights["embedding"][inputs.astype(jnp.int32)]
    input_weight, recurrent_weight = weights["lstm.input_weight"][0], weights["lstm.recurrent_weight"][0]
    input_bias, recurrent_bias = jnp.split(weights["lstm.bias"][0], 2)
    hidden = cell = jnp.zeros((inputs.shape[0], recurrent_weight.shape[1]), inputs.dtype)
    states = []
    for position in range(inputs.shape[1]):
        gates = embedded[:, position] @ input_weight.T + input_bias
        gates = gates + hidden @ recurrent_weight.T + recurrent_bias
        enter, leave, forget, fresh = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(fresh)
        hidden = jax.nn.sigmoid(leave) * jnp.tanh(cell)
        states.append(hidden)
    return linear(weights, "logits", jnp.stack(states, axis=1)), {}


def gru(weights, inputs, training):
    """A GRU whose reset gate acts after the recurrent product; the gates are update, reset and hidden."""
    input_weight, recurrent_weight = weights["gru.input_weight"][0], weights["gru.recurrent_weight"][0]
    input_bias, recurrent_bias = jnp.split(weights["gru.bias"][0], 2)
    state = jnp.zeros((inputs.shape[0], recurrent_weight.shape[1]), inputs.dtype)
    for position in range(inputs.shape[1]):
        entering = jnp.split(inputs[:, position] @ input_weight.T + input_bias, 3, axis=-1)
        recurring = jnp.split(state @ recurrent_weight.T + recurrent_bias, 3, axis=-1)
        keep = jax.nn.sigmoid(entering[0] + recurring[0])
        reset = jax.nn.sigmoid(entering[1] + recurring[1])
        fresh = jnp.tanh(entering[2] + reset * recurring[2])
        state = (1.0 - keep) * fresh + keep * state
    return dense(weights, "logits", state), {}


def layer_norm(weights, name, value):
    mean = jnp.mean(value, axis=-1, keepdims=True)
    variance = jnp.mean((value - mean) ** 2, axis=-1, keepdims=True)
    normal = (value - mean) / jnp.sqrt(variance + 1e-5)
    return normal * weights[f"{name}.scale"] + weights[f"{name}.bias"]


def attention(weights, name, value, heads=2):
    """Causal self-attention, one head after the other."""
    count, positions, width = value.shape
    queries, keys, values = jnp.split(value @ weights[f"{name}.fused.weight"], 3, axis=-1)
    visible = jnp.tril(jnp.ones((positions, positions), dtype=bool))
    mixed = []
    for head in range(heads):
        part = slice(head * width // heads, (head + 1) * width // heads)
        scores = jnp.einsum("nqd,nkd->nqk", queries[..., part], keys[..., part])
        scores = jnp.where(visible, scores / (width // heads) ** 0.5, -jnp.inf)
        mixed.append(jnp.einsum("nqk,nkd->nqd", jax.nn.softmax(scores, axis=-1), values[..., part]))
    return linear(weights, f"{name}.projection", jnp.concatenate(mixed, axis=-1))


def transformer(weights, inputs, training):
    value = weights["token_embedding"][inputs.astype(jnp.int32)] + weights["position_embedding"]
    for block in ("block.1", "block.2"):
        value = value + attention(weights, f"{block}.attention", layer_norm(weights, f"{block}.norm_1", value))
        hidden = linear(weights, f"{block}.feed_forward.up", layer_norm(weights, f"{block}.norm_2", value))
        value = value + linear(weights, f"{block}.feed_forward.down", erf_gelu(hidden))
    return linear(weights, "logits", layer_norm(weights, "final_norm", value)), {}


def recommender(weights, inputs, training):
    users, items = inputs.astype(jnp.int32).T
    affinity = jnp.sum(weights["user.factors"][users] * weights["item.factors"][items], axis=-1, keepdims=True)
    return affinity + weights["user.biases"][users] + weights["item.biases"][items] + weights["bias"], {}


MODELS = {
    "logistic_regression": logistic_regression,
    "linear_svm": linear_svm,
    "mlp": mlp,
    "residual_cnn_batch_norm": residual_cnn(batch_norm),
    "residual_cnn_group_norm": residual_cnn(group_norm),
    "depthwise_cnn": depthwise_cnn,
    "autoencoder": autoencoder,
    "char_lstm": char_lstm,
    "gru": gru,
    "transformer": transformer,
    "recommender": recommender,
}
