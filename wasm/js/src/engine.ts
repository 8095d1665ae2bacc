/** The WebAssembly module: with WebGPU where the browser has it, without elsewhere. */

import type * as Gpu from './gpu/folkmoot.js';

export type Engine = typeof Gpu;

/** Loads the module once; the smaller one if there is no WebGPU, or it is not wanted. */
export async function loadEngine(device: 'auto' | 'cpu' | 'webgpu'): Promise<Engine> {
  const wantsGpu = device !== 'cpu' && 'gpu' in navigator;
  const engine = wantsGpu ? await import('./gpu/folkmoot.js') : ((await import('./cpu/folkmoot.js')) as unknown as Engine);
  await engine.default();
  return engine;
}
