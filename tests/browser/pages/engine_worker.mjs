/** Trains step by step like the package's worker, and returns the result. */

import { assignment, examples as made, NETWORKS } from './bench_models.mjs';

const modules = {};

async function load(build) {
  modules[build] ??= import(`/folkmoot/${build}/folkmoot.js`).then(async (module) => {
    await module.default();
    return module;
  });
  return modules[build];
}

async function bytes(path) {
  const response = await fetch(path);
  return new Uint8Array(await response.arrayBuffer());
}

/** Loads the inputs of a training. The native test `wasm/tests/parity.rs` has generated them. */
async function inputs(name) {
  const folder = `/golden/browser/${name}`;
  const [assignment, plan, model, weights, features, labels] = await Promise.all(
    ['assignment.json', 'plan.json', 'model.onnx', 'weights.bin', 'features.bin', 'labels.bin'].map((file) => bytes(`${folder}/${file}`)),
  );
  const shape = JSON.parse(new TextDecoder().decode(await bytes(`${folder}/shape.json`)));
  return { assignment: new TextDecoder().decode(assignment), plan, model, weights, features, labels, shape };
}

async function begin(engine, name, device) {
  const { assignment, plan, model, weights, features, labels, shape } = await inputs(name);
  const examples = engine.ExampleSet.classes(new Float32Array(features.buffer), Uint32Array.from(shape), new Uint32Array(labels.buffer), 1);
  const work = engine.AssignedWork.begin(assignment, plan, model, weights, undefined, examples, undefined, '{}', 40);
  if (device !== null) {
    work.useDevice(device);
  }
  return work;
}

/** The terms of a plan with masked updates. */
const TERMS = { cohort_min: 3, cohort_max: 3, corrupt_share: 0, dropout_share: 0, threat: 'honest_but_curious', is_weighted: true };

const actions = {
  /** Returns why a module refuses a plan with masked updates whose assignment states none. */
  async refusal({ build, name }) {
    const engine = await load(build);
    const given = await inputs(name);
    const plan = JSON.parse(new TextDecoder().decode(given.plan));
    const masked = new TextEncoder().encode(JSON.stringify({ ...plan, protection: { secure_aggregation: TERMS } }));
    const assignment = JSON.parse(given.assignment);
    assignment.plan = { digest: engine.blobDigest(masked), bytes: masked.byteLength };
    const examples = engine.ExampleSet.classes(new Float32Array(64), Uint32Array.of(64), Uint32Array.of(1), 1);
    try {
      engine.AssignedWork.begin(JSON.stringify(assignment), masked, given.model, given.weights, undefined, examples, undefined, '{}', 40);
      return null;
    } catch (error) {
      return JSON.parse(error.message);
    }
  },

  /** Trains to the end and returns the bytes of the update. */
  async update({ build, name, onDevice }) {
    const engine = await load(build);
    const device = onDevice ? await engine.Device.find(undefined) : null;
    const work = await begin(engine, name, device);
    for (let progress; progress?.is_over !== true; ) {
      progress = JSON.parse(await work.advance());
    }
    const fault = onDevice ? (work.deviceFault() ?? null) : null;
    await work.finish();
    const update = work.update(undefined);
    const report = device === null ? null : JSON.parse(device.report());
    return { bytes: Array.from(update.bytes), fault, adapter: report };
  },

  /** Returns the duration of a training step in milliseconds, as the median over chunks of steps. */
  async time({ build, name, batchSize, onDevice, milliseconds }) {
    const engine = await load(build);
    const device = onDevice ? await engine.Device.find(undefined) : null;
    const network = NETWORKS[name]();
    const { features, labels } = made(4 * batchSize, network.shape);
    const set = engine.ExampleSet.classes(features, Uint32Array.from(network.shape), labels, 1);
    const given = assignment(engine, network, batchSize);
    const chunk = onDevice ? 500 : 100;
    const work = engine.AssignedWork.begin(
      given.assignment,
      given.plan,
      network.onnx,
      given.weights,
      undefined,
      set,
      undefined,
      '{}',
      chunk,
    );
    if (device !== null) {
      work.useDevice(device);
    }
    await work.advance();
    const times = [];
    let done = 1;
    const end = performance.now() + milliseconds;
    while (times.length < 3 || performance.now() < end) {
      const begun = performance.now();
      const { step } = JSON.parse(await work.advance());
      times.push((performance.now() - begun) / (step - done));
      done = step;
    }
    const fault = onDevice ? (work.deviceFault() ?? null) : null;
    if (fault !== null) {
      throw new Error(fault);
    }
    work.free();
    times.sort((a, b) => a - b);
    return { step: times[Math.floor(times.length / 2)], steps: done };
  },
};

self.onmessage = async ({ data: { name, argument }, ports: [port] }) => {
  try {
    port.postMessage({ value: await actions[name](argument) });
  } catch (error) {
    port.postMessage({ error: `${error}\n${error.stack}` });
  }
};
