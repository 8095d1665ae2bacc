"""Writes models as PyTorch's own exporter and ours write them, and the losses of PyTorch on the first ten steps.

Run with an interpreter that has torch and onnx: python make.py. `client-sdk/engine/tests/meant.rs` reads the files.
"""

import json
import sys
import types
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent
PACKAGE = HERE.parents[2] / "mobile-bindings" / "python" / "src" / "folkmoot"
STEPS, BATCH, RATE = 10, 8, 0.1


class Normalised(nn.Module):
    """Layers with biases of 0 and normalizations, all equal before training: the exporter merges them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.last = nn.Linear(8, 4)
        for layer in [*self.layers, self.last]:
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.tanh(norm(layer(x)))
        return self.last(x)


class Padded(nn.Module):
    """An embedding whose row 1 is padding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3, padding_idx=1)
        nn.init.normal_(self.table.weight)
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.table(x).mean(1))


def train(module, x, labels):
    """The loss of each step of gradient descent on the whole batch."""
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(x), labels)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


def exporter():
    """Our exporter, without the native module of its package."""
    package = types.ModuleType("folkmoot")
    package.__path__ = [str(PACKAGE)]
    errors = types.ModuleType("folkmoot.errors")
    errors.FolkmootError = errors.BadOptionError = type("FolkmootError", (Exception,), {})
    sys.modules.update({"folkmoot": package, "folkmoot.errors": errors})
    from folkmoot.export import to_onnx

    return to_onnx


def main():
    torch.manual_seed(1)
    runs = {}
    module, x = Normalised(), torch.randn(BATCH, 8)
    labels = torch.arange(BATCH) % 4
    names = {"input_names": ["input"], "output_names": ["output"]}
    dynamic = {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}}
    torch.onnx.export(module.eval(), x, HERE / "normalised.onnx", opset_version=17, **names, **dynamic)
    runs["normalised"] = {"x": x.flatten().tolist(), "labels": labels.tolist(), "losses": train(module, x, labels)}
    module, x = Padded(), torch.tensor([[row % 5, 1, (3 * row) % 5, 1] for row in range(BATCH)])
    labels = torch.arange(BATCH) % 2
    exporter()(module, x, HERE / "padded.onnx")
    runs["padded"] = {"x": x.flatten().tolist(), "labels": labels.tolist(), "losses": train(module, x, labels)}
    (HERE / "runs.json").write_text(json.dumps(runs) + "\n")


main()
