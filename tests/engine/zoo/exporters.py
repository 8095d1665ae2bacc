"""Writes a module as each exporter writes it, and removes what names the machine."""

import copy
import io
import logging
import re
import sys
import types
import warnings
from pathlib import Path

import onnx
import torch

PACKAGE = Path(__file__).parents[3] / "mobile-bindings" / "python" / "src" / "folkmoot"
ERROR_CHARACTERS_MAX = 160
KEPT = "pkg.onnxscript.rewriter.rule_name"


def own():
    """Returns our exporters, without the native module of their package."""
    package = types.ModuleType("folkmoot")
    package.__path__ = [str(PACKAGE)]
    errors = types.ModuleType("folkmoot.errors")
    errors.FolkmootError = errors.BadOptionError = type("FolkmootError", (Exception,), {})
    sys.modules.update({"folkmoot": package, "folkmoot.errors": errors})
    from folkmoot import export

    return export


def names(inputs):
    return ["input"] if len(inputs) == 1 else [f"input_{number}" for number in range(1, len(inputs) + 1)]


def default(module, inputs, free_length, **options):
    """PyTorch's default exporter. The module has its dropout and normalisation in training mode."""
    file = io.BytesIO()
    axes = {0: torch.export.Dim("batch", min=1)}
    if free_length is not None:
        axes[free_length] = torch.export.Dim("length", min=2, max=16)
    program = torch.onnx.export(
        copy.deepcopy(module).train(),
        inputs,
        dynamic_shapes=tuple(axes for _ in inputs),
        input_names=names(inputs),
        output_names=["output"],
        verbose=False,
        **options,
    )
    program.save(file)
    return file.getvalue()


def unoptimized(module, inputs, free_length):
    """The default exporter without its optimizer, which removes normalisations and biases."""
    return default(module, inputs, free_length, optimize=False)


def classic(module, inputs, free_length):
    """PyTorch's older exporter, for training. Its tracing changes running statistics, which are set back."""
    file = io.BytesIO()
    free = {0: "batch"} if free_length is None else {0: "batch", free_length: "length"}
    torch.onnx.export(
        copy.deepcopy(module),
        inputs,
        file,
        dynamo=False,
        dynamic_axes={**{name: free for name in names(inputs)}, "output": {0: "batch"}},
        training=torch.onnx.TrainingMode.TRAINING,
        input_names=names(inputs),
        output_names=["output"],
    )
    model = onnx.load_from_string(file.getvalue())
    state = module.state_dict()
    for tensor in model.graph.initializer:
        if tensor.name.rpartition(".")[2].startswith("running_"):
            tensor.CopyFrom(onnx.numpy_helper.from_array(state[tensor.name].numpy(), tensor.name))
    return model.SerializeToString()


def folkmoot(module, inputs, free_length):
    """Our own exporter."""
    path = Path(sys.argv[0]).parent / "written.onnx"
    try:
        own().to_onnx(module, inputs, path, free_length=free_length)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


EXPORTERS = {"torch": default, "torch-unoptimized": unoptimized, "torch-classic": classic, "folkmoot": folkmoot}


def exported(exporter, module, entry, rows):
    """Returns the file of an exporter, or the first line of its error."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return without_traces(EXPORTERS[exporter](module, entry.inputs(rows), entry.free_length)), None
        except Exception as error:  # An exporter can raise anything.
            return None, short(error)


def short(error):
    """Returns the first line of an error, without a terminal's colours and the exporter's own paths."""
    line = re.sub(r"\x1b\[\d*m|, scope: .*", "", (str(error).splitlines() or [""])[0])
    return f"{type(error).__name__}: {line[:ERROR_CHARACTERS_MAX]}"


def without_traces(file):
    """Removes the paths and lines of source that PyTorch writes at each node, but not the optimizer's rules."""
    model = onnx.load_from_string(file)
    model.doc_string = ""
    model.graph.doc_string = ""
    del model.graph.metadata_props[:]
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key == KEPT]
        node.doc_string = ""
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    for value in [*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        del value.metadata_props[:]
        value.doc_string = ""
    return model.SerializeToString(deterministic=True)
