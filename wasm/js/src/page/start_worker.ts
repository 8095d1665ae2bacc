/** Starts the worker, and says why if that fails. */

import { type ErrorCode, FolkmootError } from '../types.js';

const REMEDY =
  'Copy the folder `dist` of @folkmoot/browser to your site, and pass the address of its worker.js as `workerUrl`. ' +
  'The guide for browsers shows it for each bundler: https://github.com/folkmoot/folkmoot/blob/main/docs/guides/browser.md';

/** Starts the worker: from this address, or from where the bundler has put it. Calls `onFailure` if it fails later. */
export function startWorker(url: string | URL | undefined, onFailure: (code: ErrorCode, detail: string) => void): Worker {
  let worker: Worker;
  try {
    worker =
      url === undefined
        ? // Bundlers find the worker by this expression.
          new Worker(new URL('../worker.js', import.meta.url), { type: 'module', name: 'folkmoot' })
        : new Worker(url, { type: 'module', name: 'folkmoot' });
  } catch (error) {
    throw new FolkmootError('load_failed', `the worker could not be started: ${String(error)}. ${REMEDY}`);
  }
  worker.onerror = (event) => {
    // Only an error inside the worker has a message.
    const isLoaded = typeof event.message === 'string' && event.message !== '';
    if (isLoaded) {
      onFailure('internal', `the worker failed: ${event.message}`);
    } else {
      const from = url === undefined ? 'from where the bundler has put it' : `from ${String(url)}`;
      onFailure('load_failed', `the worker could not be loaded ${from}. ${REMEDY}`);
    }
  };
  return worker;
}
