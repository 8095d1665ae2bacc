/** The two networks of McMahan et al. 2017 as ONNX files, encoded as protobuf by hand. */

const FLOAT = 1;

function varint(number) {
  const bytes = [];
  for (let rest = BigInt(number); ; rest >>= 7n) {
    if (rest < 128n) {
      return [...bytes, Number(rest)];
    }
    bytes.push(Number(rest & 127n) | 128);
  }
}

const encode = (text) => new TextEncoder().encode(text);

function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const number = (field, value) => concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => concat([varint((field << 3) | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, encode(value));
const message = (field, ...parts) => bytes(field, concat(parts));

function tensor(field, name, shape, type, raw) {
  const dims = shape.map((size) => number(1, size));
  return message(field, ...dims, number(2, type), text(8, name), bytes(9, raw));
}

function attribute(name, value) {
  return Array.isArray(value)
    ? message(5, text(1, name), ...value.map((item) => number(8, item)), number(20, 7))
    : message(5, text(1, name), number(3, value), number(20, 2));
}

function node(op, inputs, output, attributes = {}) {
  const list = Object.entries(attributes).map(([name, value]) => attribute(name, value));
  return message(1, ...inputs.map((input) => text(1, input)), text(2, output), text(4, op), ...list);
}

function valueInfo(field, name, shape) {
  const dims = shape.map((size) => (size === null ? message(1, text(2, 'N')) : message(1, number(1, size))));
  return message(field, text(1, name), message(2, message(1, number(1, FLOAT), message(2, ...dims))));
}

/** Returns pseudo-random numbers, the same for the same seed. */
function noise(count, scale, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return scale * (state / 2 ** 31 - 1);
  });
}

class Network {
  nodes = [];
  initializers = [];
  parameters = [];

  parameter(name, shape, fanIn) {
    const values = noise(
      shape.reduce((product, size) => product * size, 1),
      Math.sqrt(3 / fanIn),
      this.parameters.length + 1,
    );
    this.parameters.push({ name, shape, values });
    this.initializers.push(tensor(5, name, shape, FLOAT, new Uint8Array(values.buffer)));
    return name;
  }

  dense(input, output, sizes, activation) {
    const [from, to] = sizes;
    const weight = this.parameter(`${output}.weight`, [from, to], from);
    const bias = this.parameter(`${output}.bias`, [to], from);
    this.nodes.push(node('Gemm', [input, weight, bias], activation ? `${output}.sum` : output));
    if (activation) {
      this.nodes.push(node('Relu', [`${output}.sum`], output));
    }
  }

  convolution(input, output, [from, to]) {
    const weight = this.parameter(`${output}.weight`, [to, from, 5, 5], 25 * from);
    const bias = this.parameter(`${output}.bias`, [to], 25 * from);
    const window = { kernel_shape: [5, 5], pads: [2, 2, 2, 2], strides: [1, 1] };
    this.nodes.push(node('Conv', [input, weight, bias], `${output}.sum`, window));
    this.nodes.push(node('Relu', [`${output}.sum`], `${output}.relu`));
    this.nodes.push(node('MaxPool', [`${output}.relu`], output, { kernel_shape: [2, 2], strides: [2, 2] }));
  }

  onnx(inputShape) {
    const info = [valueInfo(11, 'input', [null, ...inputShape]), valueInfo(12, 'logits', [null, 10])];
    const graph = message(7, ...this.nodes, text(2, 'network'), ...this.initializers, ...info);
    return concat([number(1, 8), graph, message(8, text(1, ''), number(2, 17))]);
  }
}

/** Creates the perceptron 784-200-200-10 with 199,210 parameters. */
function twoNn() {
  const network = new Network();
  network.dense('input', 'first', [784, 200], true);
  network.dense('first', 'second', [200, 200], true);
  network.dense('second', 'logits', [200, 10], false);
  return { onnx: network.onnx([784]), parameters: network.parameters, shape: [784] };
}

/**
 * Creates the network of two 5x5 convolutions with 32 and 64 channels, each with pooling, and a dense layer of 512
 * units: 1,663,370 parameters.
 */
function cnn() {
  const network = new Network();
  network.convolution('input', 'first', [1, 32]);
  network.convolution('first', 'second', [32, 64]);
  network.nodes.push(node('Flatten', ['second'], 'flat', { axis: 1 }));
  network.dense('flat', 'third', [3136, 512], true);
  network.dense('third', 'logits', [512, 10], false);
  return { onnx: network.onnx([1, 28, 28]), parameters: network.parameters, shape: [1, 28, 28] };
}

export const NETWORKS = { '2NN': twoNn, CNN: cnn };

/** Returns arbitrary examples. Their values do not affect the duration of a step. */
export function examples(count, shape) {
  const width = shape.reduce((product, size) => product * size, 1);
  const features = noise(count * width, 1, 77).map(Math.abs);
  return { features, labels: Uint32Array.from({ length: count }, (_, index) => index % 10) };
}

/** Returns an object with everything that an assignment needs to train a network. */
export function assignment(engine, { onnx, parameters }, batchSize) {
  const weights = concat(parameters.map(({ values }) => new Uint8Array(values.buffer)));
  const artifact = (content) => ({ digest: engine.blobDigest(content), bytes: content.length });
  const plan = encode(
    JSON.stringify({
      model: engine.blobDigest(onnx),
      schema: { tensors: parameters.map(({ name, shape }) => ({ name, shape })) },
      training: {
        loss: 'softmax_cross_entropy',
        optimizer: { sgd: { learning_rate: 0.01 } },
        epochs: 100000,
        batch_size: batchSize,
      },
      codec: 'none',
      protection: 'plain',
      grid: { fraction_bits: 28, value_max: 16, weight_max: 10000 },
    }),
  );
  const id = '01000000-0000-4000-8000-000000000001';
  return {
    plan,
    weights,
    assignment: JSON.stringify({
      assignment_id: id,
      task_id: id,
      round_id: id,
      round_number: 1,
      base_version: 0,
      plan: artifact(plan),
      model: artifact(onnx),
      weights: artifact(weights),
      deadline: 0,
      deadline_in_milliseconds: 0,
    }),
  };
}
