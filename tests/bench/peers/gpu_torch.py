#!/usr/bin/env python3
"""Measures a training step of torch on CUDA for `cargo xtask bench gpu --with-torch`, by wall-clock time.

The models are those of the benchmark, with random weights and one random batch on the device. Products are in float32
(TF32 off), as ours are. Each model is measured as written (eager), and as a CUDA graph that holds one whole step, which
leaves out the time that Python and the launches take. The script prints one JSON object; or the name of a missing
module, or that there is no CUDA device.
"""

import argparse
import json
import time


def main():
    arguments = parse_arguments()
    try:
        import torch
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": f"the module {error.name}"}))
        return
    if not torch.cuda.is_available():
        print(json.dumps({"missing": "a CUDA device"}))
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    model, features, labels = MODELS[arguments.model](torch, arguments.batch)
    step = make_step(torch, model.cuda(), features.cuda(), labels.cuda())
    started = time.perf_counter()
    measure(torch, step, arguments.steps)
    start_ms = (time.perf_counter() - started) * 1e3
    eager = min(measure(torch, step, arguments.steps) for _ in range(arguments.repetitions))
    replay = capture(torch, step)
    measure(torch, replay, arguments.steps)
    graph = min(measure(torch, replay, arguments.steps) for _ in range(arguments.repetitions))
    version = f"{torch.__version__} on {torch.cuda.get_device_name()}"
    print(json.dumps({"eager_ms": eager, "graph_ms": graph, "start_ms": start_ms, "version": version}))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--repetitions", type=int, required=True)
    return parser.parse_args()


def make_step(torch, model, features, labels):
    """Returns a function that makes one step of plain SGD with softmax cross-entropy."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=True)
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss_of(model(features), labels).backward()
        optimizer.step()

    return step


def capture(torch, step):
    """Records a step as a CUDA graph, after some steps on another stream, as torch's documentation asks."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(torch, step, steps):
    """Returns the milliseconds of a step. Waits for the device once, at the end."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) * 1e3 / steps


def two_nn(torch, batch):
    nn = torch.nn
    layers = [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10)]
    return nn.Sequential(*layers), torch.rand(batch, 784), torch.randint(10, (batch,))


def cnn(torch, batch):
    nn = torch.nn

    def convolution(channels, filters):
        return [nn.Conv2d(channels, filters, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]

    dense = [nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10)]
    model = nn.Sequential(*convolution(1, 32), *convolution(32, 64), *dense)
    return model, torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))


def residual_cnn_group_norm(torch, batch):
    nn = torch.nn

    def normalized(channels):
        return nn.Sequential(nn.Conv2d(channels, 8, 3, padding=1, bias=False), nn.GroupNorm(2, 8))

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = normalized(1)
            self.block = nn.Sequential(normalized(8), nn.ReLU(), normalized(8))
            self.logits = nn.Linear(8, 10)

        def forward(self, image):
            stem = (self.stem(image / 16.0)).relu()
            smaller = nn.functional.max_pool2d((self.block(stem) + stem).relu(), 2)
            return self.logits(smaller.mean(dim=(2, 3)))

    return Residual(), 16 * torch.rand(batch, 1, 8, 8), torch.randint(10, (batch,))


def transformer(torch, batch):
    nn = torch.nn
    positions, vocabulary, width, heads, hidden = 16, 32, 32, 2, 64

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention = nn.LayerNorm(width)
            self.fused = nn.Linear(width, 3 * width, bias=False)
            self.projection = nn.Linear(width, width)
            self.dense = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
            )

        def forward(self, value):
            parts = self.fused(self.before_attention(value)).chunk(3, dim=-1)
            by_head = [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts]
            attended = nn.functional.scaled_dot_product_attention(*by_head, is_causal=True)
            value = value + self.projection(attended.transpose(1, 2).flatten(2))
            return value + self.dense(value)

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Parameter(0.1 * torch.randn(positions, width))
            self.blocks = nn.Sequential(Block(), Block(), nn.LayerNorm(width))
            self.logits = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            return self.logits(self.blocks(self.tokens(tokens) + self.positions)).transpose(1, 2)

    tokens = torch.randint(vocabulary, (batch, positions))
    return Transformer(), tokens, (5 * tokens + 3) % vocabulary


MODELS = {
    "2nn": two_nn,
    "cnn": cnn,
    "residual_cnn_group_norm": residual_cnn_group_norm,
    "transformer": transformer,
}

if __name__ == "__main__":
    main()
