"""Runs PyTorch's two ONNX exporters for training: nothing is fused or merged, and parameters keep their names."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import BadOptionError
from . import graph
from .graph import ExportError
from .parameters import statistics

BATCH = 2
"""The number of rows of the example input for tracing. One row could be mistaken for a dimension of size 1."""
DYNAMO_OPSET = 18
"""The operator set in which `torch.export` graphs are translated. An older one would need a conversion."""
CLASSIC_OPSET = 17

_SHOWN_CHARACTERS_MAX = 400
_STATIC = (
    re.compile(r"static shape of (?P<size>\d+) for dimension inputs\[(?P<position>\d+)\]\.shape\[(?P<axis>\d+)\]"),
    # PyTorch 2.9
    re.compile(r"L\['(?P<name>\w+)'\]\.size\(\)\[(?P<axis>\d+)\] as dynamic .* to be a constant \((?P<size>\d+)\)"),
)

_CLASSIC = 'with exporter="classic", the file keeps what the example shows'
_BRANCH = (
    "the module decides by numbers of its input or of a buffer, for example with `if`, and a file has only one branch: "
    f"use torch.where instead; {_CLASSIC}"
)


class SpecializedError(ExportError):
    """The module computes something else for other inputs, or later in training, so a trace of the example would be wrong."""


@dataclass(frozen=True)
class Inputs:
    """The example inputs of a module, each with two rows on the processor, and the dimension that is free besides rows."""

    names: list[str]
    rows: tuple[Any, ...]
    free_length: int | None

    @classmethod
    def of(cls, torch: Any, module: Any, example: Any, free_length: int | None) -> Inputs:
        """Prepares an example as `to_onnx` takes it.

        Raises BadOptionError if it is no tensor or tuple of tensors, or if no input has the free dimension.
        """
        rows = _rows(torch, example)
        if free_length is not None:
            if free_length < 1 or all(one.dim() <= free_length for one in rows):
                raise BadOptionError(
                    f"free_length is {free_length}; it must be a dimension of an input after the batch"
                )
            # An example of length 1 would fix the length, because it could be a dimension that is broadcast.
            rows = tuple(
                torch.cat([one] * 2, free_length) if free_length < one.dim() and one.shape[free_length] == 1 else one
                for one in rows
            )
        return cls(_names(module, len(rows)), rows, free_length)

    def free_dimensions(self, batch: Any, length: Any) -> list[dict[int, Any]]:
        """Returns the free dimensions of each input, with these values."""
        return [
            {0: batch} | ({self.free_length: length} if self.free_length and self.free_length < one.dim() else {})
            for one in self.rows
        ]


def _rows(torch: Any, example: Any) -> tuple[Any, ...]:
    examples = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    if not examples or not all(isinstance(one, torch.Tensor) and one.dim() > 0 and len(one) > 0 for one in examples):
        raise BadOptionError(
            "example_input must be a tensor with a row for each example, or a tuple of such tensors for several inputs"
        )
    rows = [one[:1].detach().to("cpu") for one in examples]
    return tuple(torch.cat([row.to(torch.float32) if row.is_floating_point() else row] * BATCH) for row in rows)


def _names(module: Any, count: int) -> list[str]:
    """Returns the names of the inputs: `input` for a single one, otherwise the names of the module's parameters."""
    if count == 1:
        return ["input"]
    parameters = list(inspect.signature(module.forward).parameters)
    if len(parameters) < count:
        raise BadOptionError(
            f"example_input has {count} tensors, but the module's forward takes {len(parameters)}; give one for each"
        )
    return parameters[:count]


def why_not_dynamo(torch: Any) -> str | None:
    """Returns why PyTorch's default exporter cannot be used here, or None if it can."""
    option = inspect.signature(torch.onnx.export).parameters.get("dynamo")
    if option is None or option.default is not True:
        return f"PyTorch {torch.__version__} has another one; install PyTorch 2.9 or newer"
    if importlib.util.find_spec("onnxscript") is None:
        return "it needs onnxscript: pip install onnxscript"
    return None


def dynamo(torch: Any, module: Any, inputs: Inputs, opset: int) -> Any:
    """Returns the model that PyTorch's default exporter writes, which records the module by `torch.export`.

    Raises SpecializedError if the module fixes a dimension that must stay free, decides by numbers, or changes a buffer,
    and ExportError if the exporter fails for another reason.
    """
    free = torch.export.Dim.DYNAMIC
    with _quiet():
        try:
            program = torch.onnx.export(
                _prepared(torch, module).train(),
                inputs.rows,
                dynamo=True,
                # The optimiser removes and merges tensors that are to be trained.
                optimize=False,
                verbose=False,
                opset_version=opset,
                input_names=inputs.names,
                output_names=["output"],
                dynamic_shapes=tuple(inputs.free_dimensions(free, free)),
            )
            model = program.model_proto
        except Exception as error:  # The module and the exporter can raise anything.
            root = _root(error)
            if reason := _specialized(root, inputs.names):
                raise SpecializedError(reason) from error
            raise ExportError(f"PyTorch cannot export the module: {_shown(root)}") from error
    _refuse_changes(program, model)
    _name_dimensions(model, inputs)
    return model


def classic(torch: Any, module: Any, inputs: Inputs, opset: int) -> Any:
    """Returns the model that PyTorch's older exporter writes, which traces the module with TorchScript.

    Raises ExportError if the exporter fails.
    """
    axes = dict(zip(inputs.names, inputs.free_dimensions("N", "length")))
    options: dict[str, Any] = {
        "opset_version": opset,
        "input_names": inputs.names,
        "output_names": ["output"],
        "dynamic_axes": axes | {"output": {0: "N"}},
        "do_constant_folding": False,
        "training": torch.onnx.TrainingMode.TRAINING,
    }
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    file = io.BytesIO()
    with _quiet():
        try:
            torch.onnx.export(_prepared(torch, module), inputs.rows, file, **options)
        except Exception as error:  # The module and the exporter can raise anything.
            raise ExportError(f"PyTorch cannot export the module: {_shown(_root(error))}") from error
    return graph.onnx().load_from_string(file.getvalue())


def _prepared(torch: Any, module: Any) -> Any:
    """Returns a float32 copy on the CPU to trace, because tracing changes running statistics."""
    copied = copy.deepcopy(module).to("cpu", torch.float32)
    for part in copied.modules():
        # Models of transformers also return what they cache for the next token, which training does not need.
        if getattr(getattr(part, "config", None), "use_cache", False):
            part.config.use_cache = False
    return copied


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _shown(error: BaseException) -> str:
    """Returns the first line of an error. The lines after it contain the whole graph."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {(lines or [''])[0][:_SHOWN_CHARACTERS_MAX]}"


def _specialized(error: BaseException, names: list[str]) -> str | None:
    """Returns why the module works only for inputs like the example, if that is the error."""
    if type(error).__name__ == "GuardOnDataDependentSymNode":
        return _BRANCH
    for pattern in _STATIC:
        if found := pattern.search(str(error)):
            of = found.groupdict()
            position = names.index(of["name"]) if of.get("name") in names else int(of.get("position", 0))
            return _fixed(names[position], int(of["size"]), int(of["axis"]))
    return None


def _fixed(name: str, size: int, axis: int) -> str:
    return (
        f"the module works only if dimension {axis} of {name} is {size}, but it must stay free: take sizes from the "
        f"input's shape{'' if axis == 0 else ', or leave free_length out'}; {_CLASSIC}"
    )


def _refuse_changes(program: Any, model: Any) -> None:
    """Raises SpecializedError if the module changes a buffer in training that is no statistic of a batch normalisation.

    The file would keep the first values, for example of the vectors by which `spectral_norm` finds a norm.
    """
    changed = set(program.exported_program.graph_signature.buffers_to_mutate.values()) - statistics(model)
    names = sorted(name for name in changed if not name.endswith("num_batches_tracked"))
    if names:
        raise SpecializedError(
            f"the module changes {', '.join(names)} in training, and a file can change only the running statistics of "
            f"batch normalisation: remove that part; {_CLASSIC}"
        )


def _name_dimensions(model: Any, inputs: Inputs) -> None:
    """Names the free dimensions as the classic exporter does. The default one numbers them."""
    names: dict[str, str] = {}
    values = {value.name: value for value in model.graph.input}
    for name, free in zip(inputs.names, inputs.free_dimensions("N", "length")):
        for axis, wanted in free.items() if name in values else ():
            dimension = values[name].type.tensor_type.shape.dim[axis]
            if not dimension.dim_param:
                raise SpecializedError(_fixed(name, dimension.dim_value, axis))
            names[dimension.dim_param] = wanted
    for value in [*model.graph.input, *model.graph.output]:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in names:
                dimension.dim_param = names[dimension.dim_param]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses warnings that do not matter for an export. Warnings about the module's own code are shown."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(("torch.", "onnxscript."))]
    # Loggers that the exporters create have the level of the first two.
    levels = {one: one.level for one in map(logging.getLogger, ["torch", "onnxscript", *names])}
    with warnings.catch_warnings():
        # Expected: the exporters are deprecated or in training mode, PyTorch's own modules inspect shapes and set
        # attributes, batch counters are left out, and the initial states of recurrent layers follow the batch.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", module=r"torch\.")
        for words in (
            "num_batches_tracked",
            "with a batch_size other than 1",
            "in training mode",
            "assigned during export",
        ):
            warnings.filterwarnings("ignore", message=f"(?s).*{words}")
        for logger in levels:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in levels.items():
                logger.setLevel(level)
