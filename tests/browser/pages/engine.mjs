/** The engine without a coordinator: training on given inputs, in a worker. */

const worker = new Worker('/engine_worker.mjs', { type: 'module' });

/** Runs a function of the worker. */
globalThis.engine = (name, argument) =>
  new Promise((resolve, reject) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = ({ data }) => (data.error === undefined ? resolve(data.value) : reject(new Error(data.error)));
    worker.postMessage({ name, argument }, [channel.port2]);
  });

globalThis.isReady = true;
