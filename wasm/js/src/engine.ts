/** The WebAssembly module: with WebGPU if the browser supports it, otherwise without. */

import type * as Gpu from './gpu/folkmoot.js';

export type Engine = typeof Gpu;

/** Loads the module once. Loads the smaller one if WebGPU is not available or not requested. */
export async function loadEngine(device: 'auto' | 'cpu' | 'webgpu'): Promise<Engine> {
  const wantsGpu = device !== 'cpu' && 'gpu' in navigator;
  const engine = wantsGpu ? await import('./gpu/folkmoot.js') : ((await import('./cpu/folkmoot.js')) as unknown as Engine);
  await engine.default();
  return engine;
}
