/**
 * Trains the same models with TensorFlow.js, in a separate worker. This is a classic script, because TensorFlow.js is
 * published as one.
 */

const folder = '/tensorflow';
importScripts(
  `${folder}/tfjs-core/dist/tf-core.min.js`,
  `${folder}/tfjs-layers/dist/tf-layers.min.js`,
  `${folder}/tfjs-backend-cpu/dist/tf-backend-cpu.min.js`,
  `${folder}/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`,
  `${folder}/tfjs-backend-webgl/dist/tf-backend-webgl.min.js`,
  `${folder}/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js`,
);

function network(name) {
  const dense = (units, activation) => tf.layers.dense({ units, activation });
  if (name === '2NN') {
    return [tf.layers.dense({ units: 200, activation: 'relu', inputShape: [784] }), dense(200, 'relu'), dense(10)];
  }
  const convolution = (filters, rest) => tf.layers.conv2d({ filters, kernelSize: 5, padding: 'same', activation: 'relu', ...rest });
  const pool = () => tf.layers.maxPooling2d({ poolSize: 2, strides: 2 });
  const flat = tf.layers.flatten();
  return [convolution(32, { inputShape: [28, 28, 1] }), pool(), convolution(64), pool(), flat, dense(512, 'relu'), dense(10)];
}

async function time({ backend, name, batchSize, milliseconds, stepsMax }) {
  if (backend === 'wasm') {
    tf.wasm.setWasmPaths(`${folder}/tfjs-backend-wasm/dist/`);
  }
  if (!(await tf.setBackend(backend))) {
    throw new Error(`the TensorFlow.js backend ${backend} does not start on this machine`);
  }
  await tf.ready();
  const model = tf.sequential({ layers: network(name) });
  const shape = name === '2NN' ? [784] : [28, 28, 1];
  const features = tf.randomUniform([batchSize, ...shape]);
  const labels = tf.oneHot(tf.tensor1d(Array.from({ length: batchSize }, (_, index) => index % 10), 'int32'), 10);
  const optimizer = tf.train.sgd(0.01);
  const weights = model.trainableWeights.map((weight) => weight.val);
  const loss = () => tf.losses.softmaxCrossEntropy(labels, model.apply(features, { training: true }));
  const step = async () => {
    const value = optimizer.minimize(loss, true, weights);
    // The loss becomes available only when the step has finished.
    await value.data();
    value.dispose();
  };
  await step();
  const times = [];
  const end = performance.now() + milliseconds;
  while (times.length < 3 || (performance.now() < end && times.length < stepsMax)) {
    const begun = performance.now();
    await step();
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  return { step: times[Math.floor(times.length / 2)], steps: times.length, version: tf.version_core };
}

self.onmessage = async ({ data: { argument }, ports: [port] }) => {
  try {
    port.postMessage({ value: await time(argument) });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
};
