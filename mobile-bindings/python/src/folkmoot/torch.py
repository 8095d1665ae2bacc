"""PyTorch modules in and out: a module becomes the model of a task or of a simulation, and gets the trained weights back by name.

from folkmoot import torch as federated

done = federated.simulate(module, "task.toml", (x, y), clients=20)  # trains `module` itself

task = federated.create_task(admin, "task.toml", module, torch.zeros(1, 64))
admin.wait(task)
federated.download(module, admin, task)

trainer = federated.ModuleTrainer(module, dataset, torch.nn.functional.cross_entropy, optimizer)
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import simulation
from ._buffers import ArrayLike
from ._program import Source
from .admin import Admin, views
from .errors import BadOptionError
from .export import to_onnx, weights
from .export.graph import needed
from .simulated import Simulated
from .trainer import Evaluated, Trained, Trainer, Work

__all__ = ["ModuleTrainer", "create_task", "download", "load", "simulate"]

_MODEL = "model.onnx"


def load(module: Any, trained: Source | Mapping[str, Any]) -> Any:
    """Copies trained weights into a module, by name, and returns the module.

    `trained` is a downloaded ONNX file, or arrays by name. Weights that were not trained keep their values. The device and the type
    of each parameter stay. Nothing is copied if something does not fit.

    Raises BadOptionError if the weights are those of another module.
    """
    torch = needed("torch", "pip install torch")
    arrays = trained if isinstance(trained, Mapping) else weights(trained)
    state = module.state_dict()
    for name, array in arrays.items():
        if name not in state:
            raise BadOptionError(f"the module has no weight `{name}`; its weights are {', '.join(state)}")
        if tuple(state[name].shape) != tuple(array.shape):
            raise BadOptionError(
                f"`{name}` has the shape {tuple(array.shape)}, and in the module {tuple(state[name].shape)}; "
                "give the module that was exported"
            )
    # Tied weights have several names, and only one of them is in the file.
    copied = {state[name].data_ptr() for name in arrays}
    missing = [
        name
        for name, parameter in module.named_parameters()
        if parameter.requires_grad and parameter.data_ptr() not in copied
    ]
    if missing:
        raise BadOptionError(
            f"there are no trained weights for {', '.join(missing)}; give the module that was exported"
        )
    with torch.no_grad():
        for name, array in arrays.items():
            state[name].copy_(torch.as_tensor(array))
    return module


def simulate(
    module: Any,
    task: Source | Mapping[str, Any],
    data: Source | tuple[ArrayLike, ArrayLike] | None,
    *,
    example_input: Any = None,
    free_length: int | None = None,
    **options: Any,
) -> Simulated:
    """Trains a module in a simulation: it starts with the module's weights, and the module has the last version's at the end.

    `example_input` is that of `to_onnx`; with arrays as `data` it is their first row by default. `options` are those of
    `folkmoot.simulate`.

    Raises ExportError if the module cannot be exported, and the errors of `folkmoot.simulate`. The module is then unchanged.
    """
    torch = needed("torch", "pip install torch")
    if example_input is None:
        if not isinstance(data, tuple):
            raise BadOptionError(
                "example_input is missing; give a tensor of the shape of one row, such as torch.zeros(1, 64)"
            )
        example_input = torch.as_tensor(data[0][:1])  # type: ignore[index]
    with tempfile.TemporaryDirectory(prefix="folkmoot-module-") as name:
        model = to_onnx(module, example_input, Path(name, _MODEL), free_length=free_length).path
        given = options.pop("output", None)
        output = Path(name, "output") if given is None else Path(given)
        done = simulation.simulate(task, model, data, output=output, **options)
        load(module, output / _MODEL)
    # A temporary folder has been deleted.
    return dataclasses.replace(done, output=None if given is None else output)


def create_task(
    admin: Admin,
    description: Mapping[str, Any] | Source,
    module: Any,
    example_input: Any,
    *,
    free_length: int | None = None,
    activate: bool = True,
    **options: Any,
) -> views.TaskView:
    """Creates a task that trains a module, from the module's weights on, and starts it unless `activate` is false.

    `example_input` and `free_length` are those of `to_onnx`, and `options` those of `Admin.create_task`.

    Raises ExportError, or the errors of `Admin.create_task`.
    """
    with tempfile.TemporaryDirectory(prefix="folkmoot-module-") as name:
        model = to_onnx(module, example_input, Path(name, _MODEL), free_length=free_length).path
        return admin.create_task(description, model, activate=activate, **options)


def download(module: Any, admin: Admin, task: views.TaskLike, version: int | None = None) -> int:
    """Copies the weights of a version, by default the newest, into the module. Returns the version's number.

    Raises BadOptionError if the task trains another module, and the errors of `Admin.download`.
    """
    with tempfile.TemporaryDirectory(prefix="folkmoot-module-") as name:
        path = os.path.join(name, _MODEL)
        number = admin.download(task, path, version)
        load(module, path)
    return number


class ModuleTrainer(Trainer):
    """Trains a module in PyTorch's own loop, with the plan's epochs and batch size. Pass it to `Client(trainer=…)`.

    The ONNX file of the task must come from the same module (`create_task` or `to_onnx`), because weights are found by name.
    """

    def __init__(
        self,
        module: Any,
        dataset: Any,
        loss: Callable[[Any, Any], Any],
        optimizer: Callable[[Any], Any],
        *,
        held_out: Any = None,
        seed: int | None = None,
    ) -> None:
        """Creates a trainer.

        `dataset` is a `torch.utils.data.Dataset` of pairs of an example and its target, and so is `held_out`, on which evaluations
        measure. `loss(outputs, targets)` returns the mean loss of a batch. `optimizer` makes an optimizer from parameters, such as
        `lambda parameters: torch.optim.AdamW(parameters, lr=0.01)`; it is called once for each assignment. `seed` makes the order
        of the batches reproducible.

        Raises BadOptionError if PyTorch is missing, or `module` is none of its modules.
        """
        self._torch: Any = needed("torch", "pip install torch")
        if not isinstance(module, self._torch.nn.Module):
            raise BadOptionError(f"module is a {type(module).__name__}; it must be a torch.nn.Module")
        self.module = module
        """The module. After a training, it has the weights that this client reached."""
        self._dataset, self._held_out = dataset, held_out
        self._loss, self._optimizer = loss, optimizer
        self._generator: Any = None if seed is None else self._torch.Generator().manual_seed(seed)

    def example_count(self) -> int:
        """The length of the data set."""
        return len(self._dataset)

    def train(self, work: Work) -> Trained:
        """Runs the plan's epochs. Stops between two steps if the assignment is cancelled or the round waits for it."""
        plan = work.plan["training"]
        load(self.module, work.weights)
        self.module.train()
        optimizer = self._optimizer([one for one in self.module.parameters() if one.requires_grad])
        seen = _Seen()
        for _ in range(plan["epochs"]):
            for x, y in self._batches(self._dataset, plan["batch_size"], shuffle=True):
                if work.is_stopped or (work.is_asked and seen.examples):
                    break
                optimizer.zero_grad()
                outputs = self.module(x)
                loss = self._loss(outputs, y)
                loss.backward()
                optimizer.step()
                seen.add(float(loss.detach()), outputs, y)
        state = self.module.state_dict()
        reached = {name: state[name].detach().cpu().float().numpy() for name in work.shapes}
        count = min(seen.examples, len(self._dataset)) or 1
        return Trained(reached, count, seen.loss(), seen.correct(count), seen.steps)

    def evaluate(self, work: Work) -> Evaluated | None:
        """Measures on the held-out examples. Without any, the engine evaluates."""
        if self._held_out is None:
            return None
        load(self.module, work.weights)
        self.module.eval()
        seen = _Seen()
        with self._torch.no_grad():
            for x, y in self._batches(self._held_out, work.plan["training"]["batch_size"], shuffle=False):
                outputs = self.module(x)
                seen.add(float(self._loss(outputs, y)), outputs, y)
        return Evaluated(seen.examples, seen.loss(), seen.correct(seen.examples))

    def _batches(self, dataset: Any, size: int, *, shuffle: bool) -> Any:
        """Yields the batches on the module's device."""
        data: Any = needed("torch.utils.data", "pip install torch")
        first = next(self.module.parameters(), None)
        device = None if first is None else first.device
        for x, y in data.DataLoader(
            dataset, batch_size=size, shuffle=shuffle, generator=self._generator if shuffle else None
        ):
            yield _moved(x, device), _moved(y, device)


def _moved(batch: Any, device: Any) -> Any:
    """Returns a batch on this device: a tensor, or several as data sets with several inputs return them."""
    if hasattr(batch, "to"):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {name: _moved(one, device) for name, one in batch.items()}
    return type(batch)(_moved(one, device) for one in batch) if isinstance(batch, (list, tuple)) else batch


class _Seen:
    """Sums over the batches of a pass or several."""

    def __init__(self) -> None:
        self.examples, self.steps = 0, 0
        self._loss_sum, self._correct_sum = 0.0, 0

    def add(self, loss: float, outputs: Any, targets: Any) -> None:
        self.examples += len(targets)
        self.steps += 1
        self._loss_sum += loss * len(targets)
        # Class numbers have no dimension of their own, and are no floats.
        if outputs.dim() == 2 and targets.dim() == 1 and not targets.is_floating_point():
            self._correct_sum += int((outputs.argmax(1) == targets).sum())

    def loss(self) -> float:
        """The mean loss of an example."""
        return self._loss_sum / max(self.examples, 1)

    def correct(self, count: int) -> int:
        """The correct predictions, in proportion to this number of examples."""
        return round(self._correct_sum * count / max(self.examples, 1))
