/** Runs the engine without a coordinator: trains on given inputs, in a worker. */

const worker = new Worker('/engine_worker.mjs', { type: 'module' });

/** Calls a function of the worker and returns its result. */
globalThis.engine = (name, argument) =>
  new Promise((resolve, reject) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = ({ data }) => (data.error === undefined ? resolve(data.value) : reject(new Error(data.error)));
    worker.postMessage({ name, argument }, [channel.port2]);
  });

globalThis.isReady = true;
