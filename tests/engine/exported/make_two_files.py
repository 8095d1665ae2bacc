"""Writes one model as PyTorch's exporter writes it: with a data file for the larger weights, and as one file.

Run with an interpreter that has torch, onnxscript and onnx: python make_two_files.py. Tests of the client and of the command
read the files.
"""

from pathlib import Path

import onnx
import torch
from torch import nn

HERE = Path(__file__).parent


def main():
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 10)).eval()
    options = {"input_names": ["input"], "output_names": ["output"], "verbose": False}
    options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
    for name, external_data in [("one_file", False), ("two_files", True)]:
        path = HERE / f"{name}.onnx"
        torch.onnx.export(module, (torch.zeros(2, 64),), path, external_data=external_data, **options)
        # The exporter notes where the module's code is on the machine.
        model = onnx.load(path, load_external_data=False)
        for part in [*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info]:
            del part.metadata_props[:]
        path.write_bytes(model.SerializeToString(deterministic=True))


main()
