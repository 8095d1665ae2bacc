/** The WebAssembly modules: with WebGPU if the browser supports it, otherwise without; and one that reads every model. */

import type * as Gpu from './gpu/folkmoot.js';

export type Engine = typeof Gpu;

/** Loads the module once. Loads the smaller one if WebGPU is not available or not requested. */
export async function loadEngine(device: 'auto' | 'cpu' | 'webgpu'): Promise<Engine> {
  const wantsGpu = device !== 'cpu' && 'gpu' in navigator;
  return started(wantsGpu ? import('./gpu/folkmoot.js') : import('./cpu/folkmoot.js'));
}

/** The module with the complete importer, once a model needed it. */
let complete: Promise<Engine> | null = null;

/** Returns the module that reads this ONNX model: the given one, or else the one with the complete importer. */
export function engineFor(engine: Engine, onnx: Uint8Array): Engine | Promise<Engine> {
  if (!engine.needsCompleteImporter(onnx)) {
    return engine;
  }
  complete ??= started(import('./complete/folkmoot.js')).catch((error) => {
    // The next model that needs the module tries again.
    complete = null;
    throw error;
  });
  return complete;
}

async function started(module: Promise<unknown>): Promise<Engine> {
  const engine = (await module) as Engine;
  await engine.default();
  return engine;
}
