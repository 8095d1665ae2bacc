/** Starts a new worker for every measurement, so that no measurement benefits from the warm-up of an earlier one. */

const WORKERS = {
  folkmoot: () => new Worker('/engine_worker.mjs', { type: 'module' }),
  tensorflow: () => new Worker('/bench_tensorflow.js'),
};

globalThis.measure = (system, argument) =>
  new Promise((resolve) => {
    const worker = WORKERS[system]();
    const end = (result) => {
      worker.terminate();
      resolve(result);
    };
    worker.onerror = (event) => end({ error: event.message });
    const channel = new MessageChannel();
    channel.port1.onmessage = ({ data }) => end(data);
    worker.postMessage({ name: 'time', argument }, [channel.port2]);
  });

globalThis.isReady = true;
