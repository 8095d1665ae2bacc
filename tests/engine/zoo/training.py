"""Trains modules with plain gradient descent, in single and in double precision."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 20
# A tensor that moves less than this part of the farthest one is compared as if it moved so far.
SMALLEST_PART = 0.01
DEVIATION_MAX = 2e-4
PERTURBATION = 1e-6
PERTURBED_RUNS = 3
LOSSES = {
    "softmax_cross_entropy": lambda output, labels: F.cross_entropy(output.flatten(0, -2), labels.flatten()),
    "mean_squared_error": F.mse_loss,
}


def reference(module, entry, features, labels):
    """Returns the learning rate, the losses, how far each tensor moved, and the deviation from double precision.

    Halves the learning rate until rounding does not change the result, and returns None if that does not help.
    """
    rate = entry.rate
    for _ in range(6):
        single = train(module, entry, features, labels, rate, torch.float32)
        double = train(module, entry, features, labels, rate, torch.float64)
        runs = [
            train(perturbed(module, seed), entry, features, labels, rate, torch.float32)
            for seed in range(PERTURBED_RUNS)
        ]
        difference = max(deviation(run, double) for run in [single, *runs])
        if difference <= DEVIATION_MAX:
            return rate, *single, deviation(single, double)
        rate /= 2
    return None


def perturbed(module, seed):
    """Returns a copy whose weights differ by about a millionth, far more than rounding does."""
    generator = torch.Generator().manual_seed(seed)
    module = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.mul_(1 + PERTURBATION * torch.randn(tensor.shape, generator=generator))
    return module


def train(module, entry, features, labels, rate, precision):
    """Returns the loss before each step, and by how much each trained tensor and running statistic changed."""
    module = copy.deepcopy(module).train().to(precision)
    if features.is_floating_point():
        features = features.to(precision)
    if labels.is_floating_point():
        labels = labels.to(precision)
    normalisations = [part for part in module.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    for part in normalisations:
        part.register_forward_pre_hook(_remember)
    start = {name: tensor.detach().clone() for name, tensor in trained(module).items()}
    optimizer = torch.optim.SGD([one for one in module.parameters() if one.requires_grad], lr=rate)
    losses = []
    for step in range(STEPS):
        first = step * entry.batch % len(features)
        rows = slice(first, first + entry.batch)
        optimizer.zero_grad()
        loss = LOSSES[entry.loss](module(*entry.inputs(features[rows])), labels[rows])
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        for part in normalisations:
            follow_population_variance(part)
    moved = {name: (tensor.detach() - start[name]).double() for name, tensor in trained(module).items()}
    return losses, moved


def trained(module):
    """Returns the parameters and running statistics by name; a tied one has only its first name."""
    tensors = dict(module.named_parameters())
    tensors = {name: tensor for name, tensor in tensors.items() if tensor.requires_grad}
    running = {
        name: tensor for name, tensor in module.named_buffers() if name.rpartition(".")[2].startswith("running_")
    }
    return {**tensors, **running}


def _remember(part, inputs):
    part.count = inputs[0].numel() / inputs[0].shape[1]
    part.variance_before = part.running_var.clone()


@torch.no_grad()
def follow_population_variance(part):
    """Lets a running variance follow the population's variance, as ONNX does; PyTorch's follows the sample's."""
    kept = (1 - part.momentum) * part.variance_before
    part.running_var.copy_(kept + (part.running_var - kept) * (part.count - 1) / part.count)


def deviation(single, double):
    """Returns the largest relative difference of a loss or of a tensor's movement."""
    losses, exact = torch.tensor(single[0]).double(), torch.tensor(double[0]).double()
    largest = ((losses - exact).abs() / exact.abs().clamp(min=SMALLEST_PART * exact.abs().max())).max().item()
    farthest = max(moved.norm().item() for moved in double[1].values())
    for name, moved in double[1].items():
        scale = max(moved.norm().item(), SMALLEST_PART * farthest)
        largest = max(largest, (single[1][name] - moved).norm().item() / scale)
    return largest
