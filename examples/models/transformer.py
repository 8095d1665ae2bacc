#!/usr/bin/env python3
"""Makes transformer.onnx: predicts the next token at each of 16 positions with causal self-attention.

Two blocks of attention and a feed-forward part, normalized before each (Xiong et al. 2020). The graph is
written as exporters write it: fused queries, keys and values, heads split by shape arithmetic, Gelu by Erf.
"""

import numpy as np
from common import ModelBuilder
from onnx import TensorProto

SEED = 10
POSITIONS = 16
VOCABULARY = 32
WIDTH = 32
HEADS = 2
HEAD_WIDTH = WIDTH // HEADS
HIDDEN = 64
BLOCKS = 2


def add_constants(model):
    """The constants that all blocks share."""
    hidden_positions = np.triu(np.full((POSITIONS, POSITIONS), -1e9), k=1)
    model.constant("causal_mask", hidden_positions[None, None], np.float32)
    model.constant("attention_scale", np.sqrt(HEAD_WIDTH), np.float32)
    model.constant("square_root_of_two", np.sqrt(2.0), np.float32)
    model.constant("one", 1.0, np.float32)
    model.constant("half", 0.5, np.float32)
    model.constant("thirds", [WIDTH] * 3)
    model.constant("batch_axis", 0)
    model.constant("front", [0])
    model.constant("heads_shape", [POSITIONS, HEADS, HEAD_WIDTH])
    model.constant("joined_shape", [0, 0, -1])


def add_heads(model, name, value, permutation):
    """Turns `[N, positions, width]` into heads, with a shape that the graph computes from the batch."""
    shape = model.node("Shape", [value], f"{name}.shape")
    batch = model.node("Gather", [shape, "batch_axis"], f"{name}.batch", axis=0)
    batch = model.node("Unsqueeze", [batch, "front"], f"{name}.batch_list")
    shape = model.node("Concat", [batch, "heads_shape"], f"{name}.heads_shape", axis=0)
    heads = model.node("Reshape", [value, shape], f"{name}.heads")
    return model.node("Transpose", [heads], f"{name}.by_head", perm=permutation)


def add_attention(model, name, value):
    """Causal self-attention (Vaswani et al. 2017, equation 1).

    The fused projection has no bias: softmax cancels the keys' part of it, which would have no gradient.
    """
    fused = model.linear(f"{name}.fused", value, WIDTH, 3 * WIDTH, bias=False)
    parts = [f"{name}.{part}" for part in ("queries", "keys", "values")]
    queries, keys, values = model.node_with_outputs("Split", [fused, "thirds"], parts, axis=2)
    queries = add_heads(model, queries, queries, [0, 2, 1, 3])
    keys = add_heads(model, keys, keys, [0, 2, 3, 1])
    values = add_heads(model, values, values, [0, 2, 1, 3])

    scores = model.node("MatMul", [queries, keys], f"{name}.products")
    scores = model.node("Div", [scores, "attention_scale"], f"{name}.scores")
    scores = model.node("Add", [scores, "causal_mask"], f"{name}.causal_scores")
    shares = model.node("Softmax", [scores], f"{name}.shares", axis=-1)
    mixed = model.node("MatMul", [shares, values], f"{name}.mixed")
    mixed = model.node("Transpose", [mixed], f"{name}.by_position", perm=[0, 2, 1, 3])
    joined = model.node("Reshape", [mixed, "joined_shape"], f"{name}.joined")
    return model.linear(f"{name}.projection", joined, WIDTH, WIDTH)


def add_feed_forward(model, name, value):
    """Two dense layers with Gelu between them, applied at each position."""
    value = model.linear(f"{name}.up", value, WIDTH, HIDDEN)
    curve = model.node("Div", [value, "square_root_of_two"], f"{name}.divided")
    curve = model.node("Erf", [curve], f"{name}.erf")
    curve = model.node("Add", [curve, "one"], f"{name}.shifted")
    value = model.node("Mul", [value, curve], f"{name}.gated")
    value = model.node("Mul", [value, "half"], f"{name}.activated")
    return model.linear(f"{name}.down", value, HIDDEN, WIDTH)


def add_normalization(model, name, value):
    """Layer normalization over the width."""
    scale = model.weight(f"{name}.scale", np.ones(WIDTH))
    bias = model.weight(f"{name}.bias", np.zeros(WIDTH))
    return model.node("LayerNormalization", [value, scale, bias], name, axis=-1, epsilon=1e-5)


def add_block(model, name, value):
    """One block: attention, then the feed-forward part, each with a residual connection."""
    attended = add_attention(model, f"{name}.attention", add_normalization(model, f"{name}.norm_1", value))
    value = model.node("Add", [value, attended], f"{name}.with_attention")
    forwarded = add_feed_forward(model, f"{name}.feed_forward", add_normalization(model, f"{name}.norm_2", value))
    return model.node("Add", [value, forwarded], f"{name}.sum")


def main():
    model = ModelBuilder("transformer", SEED, [POSITIONS])
    add_constants(model)
    tokens = model.node("Cast", ["input"], "tokens", to=TensorProto.INT64)
    table = model.normal("token_embedding", (VOCABULARY, WIDTH), 1, gain=0.25)
    embedded = model.node("Gather", [table, tokens], "embedded", axis=0)
    positions = model.normal("position_embedding", (POSITIONS, WIDTH), 1, gain=0.01)
    value = model.node("Add", [embedded, positions], "with_positions")
    for block in range(1, BLOCKS + 1):
        value = add_block(model, f"block.{block}", value)
    value = add_normalization(model, "final_norm", value)
    model.save(model.linear("logits", value, WIDTH, VOCABULARY), [POSITIONS, VOCABULARY])


if __name__ == "__main__":
    main()
