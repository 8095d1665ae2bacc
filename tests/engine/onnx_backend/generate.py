"""Exports the ONNX project's operator tests as files that the engine's test reads.

    python generate.py FOLDER Abs Add ai.onnx.ml.Scaler ...

The script needs the Python package `onnx`. It exports every test that uses only the named operators: to
FOLDER/<test>/model.onnx, input_0.pb, output_0.pb and so on (TensorProto). FOLDER/version.txt contains the
version of the package. The script skips tests with sequences, optional values, text, or floating-point
numbers of one byte or less.
"""

import pathlib
import sys
import warnings

import numpy
import onnx
from onnx import TensorProto, numpy_helper

PLAIN_TYPES = {
    TensorProto.FLOAT,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.UINT16,
    TensorProto.INT16,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.BOOL,
    TensorProto.FLOAT16,
    TensorProto.DOUBLE,
    TensorProto.UINT32,
    TensorProto.UINT64,
    TensorProto.BFLOAT16,
}


def as_tensor(value):
    """Returns the value as a TensorProto of a plain numeric type, or None."""
    if isinstance(value, TensorProto):
        tensor = value
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        try:
            tensor = numpy_helper.from_array(numpy.asarray(value))
        except (TypeError, ValueError, KeyError, NotImplementedError):
            return None
    else:
        return None
    return tensor if tensor.data_type in PLAIN_TYPES else None


def is_plain(infos):
    """Returns whether all declared values are tensors of plain numeric types."""
    types = [info.type for info in infos]
    return all(t.HasField("tensor_type") and t.tensor_type.elem_type in PLAIN_TYPES for t in types)


def write(folder, case):
    """Writes a test. Returns False if the test is skipped."""
    graph = case.model.graph
    if not is_plain(graph.input) or not is_plain(graph.output) or len(case.data_sets) != 1:
        return False
    files = {"model.onnx": case.model.SerializeToString()}
    for kind, values in zip(("input", "output"), case.data_sets[0]):
        for index, value in enumerate(values):
            tensor = as_tensor(value)
            if tensor is None:
                return False
            files[f"{kind}_{index}.pb"] = tensor.SerializeToString()
    target = folder / case.name
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (target / name).write_bytes(content)
    return True


def full_name(node):
    """Returns the operator, with its domain unless that is ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def main():
    """Reads the command line and writes the tests."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, operators = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    written, left_out = 0, []
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        if all(full_name(node) in operators for node in nodes):
            if write(folder, case):
                written += 1
            else:
                left_out.append(case.name)
    (folder / "version.txt").write_text(onnx.__version__)
    print(f"onnx {onnx.__version__}: {written} tests written, {len(left_out)} left out")


if __name__ == "__main__":
    main()
