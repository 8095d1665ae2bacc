"""Code shared by the model scripts: a builder of ONNX graphs, and the initialisation of weights."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IR_VERSIONS = {17: 8, 20: 9, 21: 10}


class ModelBuilder:
    """Collects nodes, trained weights and constants, and saves them as one ONNX file.

    The input and the output are float tensors whose first dimension is the free batch "N".
    Methods return the name of what they add, so that calls can be chained.
    """

    def __init__(self, name, seed, input_shape, opset=17):
        self.name = name
        self.opset = opset
        self.input_shape = input_shape
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.nodes = []
        self.initializers = []

    def weight(self, name, values):
        """Adds a float initializer: a trained weight, or a running statistic of a normalization."""
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype=np.float32), name))
        return name

    def normal(self, name, shape, inputs, gain=2.0):
        """Adds a weight drawn from a normal distribution of variance gain / inputs (He et al. 2015 for gain 2)."""
        return self.weight(name, self.generator.normal(0.0, np.sqrt(gain / inputs), shape))

    def uniform(self, name, shape, bound):
        """Adds a weight drawn uniformly from -bound to bound."""
        return self.weight(name, self.generator.uniform(-bound, bound, shape))

    def constant(self, name, values, dtype=np.int64):
        """Adds a Constant node, which training does not change."""
        tensor = numpy_helper.from_array(np.asarray(values, dtype=dtype), name)
        self.nodes.append(helper.make_node("Constant", [], [name], name, value=tensor))
        return name

    def node(self, operator, inputs, output, **attributes):
        """Adds a node with one output and returns the output's name."""
        return self.node_with_outputs(operator, inputs, [output], **attributes)[0]

    def node_with_outputs(self, operator, inputs, outputs, **attributes):
        """Adds a node with several outputs; an empty name omits an output."""
        name = next(output for output in outputs if output)
        self.nodes.append(helper.make_node(operator, inputs, outputs, name, **attributes))
        return outputs

    def dense(self, name, value, inputs, outputs, gain=2.0):
        """Adds a Gemm with an `[outputs, inputs]` weight and a zero bias."""
        weight = self.normal(f"{name}.weight", (outputs, inputs), inputs, gain)
        bias = self.weight(f"{name}.bias", np.zeros(outputs))
        return self.node("Gemm", [value, weight, bias], name, transB=1)

    def linear(self, name, value, inputs, outputs, bias=True):
        """Adds a MatMul with an `[inputs, outputs]` weight, for values of any rank, and an optional bias."""
        weight = self.normal(f"{name}.weight", (inputs, outputs), inputs, gain=1.0)
        product = self.node("MatMul", [value, weight], f"{name}.product")
        if not bias:
            return product
        return self.node("Add", [product, self.weight(f"{name}.bias", np.zeros(outputs))], name)

    def convolution(self, name, value, inputs, outputs, kernel, stride=1, groups=1, bias=False):
        """Adds a square Conv, padded so that stride 1 keeps the size."""
        shape = (outputs, inputs // groups, kernel, kernel)
        operands = [value, self.normal(f"{name}.weight", shape, shape[1] * kernel * kernel)]
        if bias:
            operands.append(self.weight(f"{name}.bias", np.zeros(outputs)))
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
        return self.node("Conv", operands, name, group=groups, **window)

    def save(self, output, output_shape):
        """Checks the model and writes it beside the scripts, with the same bytes every time."""
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", *self.input_shape])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", *output_shape])],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, producer_name=f"{self.name}.py", opset_imports=opsets)
        model.ir_version = IR_VERSIONS[self.opset]
        onnx.checker.check_model(model, full_check=True)
        path = Path(__file__).with_name(f"{self.name}.onnx")
        path.write_bytes(model.SerializeToString(deterministic=True))
        parameters = sum(int(np.prod(tensor.dims)) for tensor in self.initializers)
        print(f"{path.name}: {parameters} parameters, {path.stat().st_size} bytes")
