/** The WebAssembly modules: with WebGPU if the browser supports it, otherwise without; and larger ones for some tasks. */

import type { Answer, Assignment } from './effects.js';
import type * as Gpu from './gpu/folkmoot.js';
import type { BrowserSession } from './gpu/folkmoot.js';
import type * as Masks from './masks/folkmoot.js';
import { FolkmootError } from './types.js';

export type Engine = typeof Gpu;
export type MasksEngine = Engine & Pick<typeof Masks, 'Exchange'>;

/**
 * The files of each module. Bundlers find them by these expressions and copy them as they are. Were the scripts imported
 * instead, a bundler would split the worker, which some do only with a setting.
 */
const FILES = {
  cpu: { script: new URL('./cpu/folkmoot.js', import.meta.url), bytes: new URL('./cpu/folkmoot_bg.wasm', import.meta.url) },
  gpu: { script: new URL('./gpu/folkmoot.js', import.meta.url), bytes: new URL('./gpu/folkmoot_bg.wasm', import.meta.url) },
  complete: {
    script: new URL('./complete/folkmoot.js', import.meta.url),
    bytes: new URL('./complete/folkmoot_bg.wasm', import.meta.url),
  },
  masks: { script: new URL('./masks/folkmoot.js', import.meta.url), bytes: new URL('./masks/folkmoot_bg.wasm', import.meta.url) },
};
type Module = keyof typeof FILES;

/** A larger module could not be loaded. The next attempt may succeed. */
export class ModuleError extends Error {
  constructor(folder: Module, cause: unknown) {
    super(`the module for this task could not be loaded (${String(cause)}); check that the site serves the folder \`${folder}\``);
  }
}

/** Loads the module once. Loads the smaller one if WebGPU is not available or not requested. */
export async function loadEngine(device: 'auto' | 'cpu' | 'webgpu'): Promise<Engine> {
  const wantsGpu = device !== 'cpu' && 'gpu' in navigator;
  const name = wantsGpu ? 'gpu' : 'cpu';
  return started(name).catch((error: unknown) => {
    const { script, bytes } = FILES[name];
    const detail = `${String(error)}; check that the site serves ${script} and, as application/wasm, ${bytes}`;
    throw new FolkmootError('load_failed', `the module \`${name}\` could not be loaded: ${detail}`);
  });
}

/** The module with the complete importer, once a model needed it. */
let complete: Promise<Engine> | null = null;
/** The module with the complete importer and secure aggregation, once an assignment needed it. */
let masks: Promise<MasksEngine> | null = null;

/** Loads the module with secure aggregation, once. Throws a {@link ModuleError} if that is impossible now. */
export function loadMasks(): Promise<MasksEngine> {
  masks ??= started<MasksEngine>('masks').catch((error: unknown) => {
    // The next assignment that needs the module tries again.
    masks = null;
    throw new ModuleError('masks', error);
  });
  return masks;
}

function loadComplete(): Promise<Engine> {
  complete ??= started('complete').catch((error: unknown) => {
    // The next model that needs the module tries again.
    complete = null;
    throw new ModuleError('complete', error);
  });
  return complete;
}

/**
 * Returns the module that reads this plan: the given one, or the one with secure aggregation if the plan demands masked
 * updates. The words may stand in a name of the plan by chance. Then the larger module is loaded, which reads every plan.
 */
export function engineForPlan(engine: Engine, plan: Uint8Array | undefined): Engine | Promise<Engine> {
  const text = new TextDecoder().decode(plan);
  return /"(secure_aggregation|committee)"/.test(text) ? loadMasks() : engine;
}

/**
 * Returns the module that reads this plan and its ONNX model. The module with secure aggregation reads every model. The small one finds no
 * values inside of a model, which a plan may name.
 */
export async function engineFor(engine: Engine, plan: Uint8Array, onnx: Uint8Array): Promise<Engine> {
  const reader = await engineForPlan(engine, plan);
  const namesValue = /"(output|model_contrast)":/.test(new TextDecoder().decode(plan));
  return reader === engine && (namesValue || engine.needsCompleteImporter(onnx)) ? loadComplete() : reader;
}

/** Opens a stored session, or a new one. Throws a `ModuleError` if the session needs a module that cannot be loaded now. */
export async function openSession(engine: Engine, stored: string | undefined, offer: string, waitSeconds: number): Promise<BrowserSession> {
  // The text may stand in an attribute by chance. Then the larger module is loaded, which reads every session.
  const isMasked = stored?.includes('"is_masked":true') === true;
  const module = isMasked ? await loadMasks() : engine;
  return module.BrowserSession.open(stored, offer, waitSeconds);
}

/** Returns whether an answer brings an assignment with masked updates. */
export function bringsMasks(answer: Answer): boolean {
  const checkIn = typeof answer === 'object' ? (answer['check_in'] as { Ok?: { assignment?: Assignment } } | undefined) : undefined;
  return checkIn?.Ok?.assignment?.is_masked === true;
}

/** Moves a session into the module `masks`, and frees the given one. */
export async function moveSession(session: BrowserSession, offer: string, waitSeconds: number): Promise<BrowserSession> {
  const module = await loadMasks();
  const isThere: boolean = session instanceof module.BrowserSession;
  if (isThere) {
    return session;
  }
  const moved = module.BrowserSession.open(session.toJson(), offer, waitSeconds);
  session.free();
  return moved;
}

async function started<E extends Engine>(name: Module): Promise<E> {
  const { script, bytes } = FILES[name];
  const engine = (await import(/* webpackIgnore: true */ /* @vite-ignore */ script.href)) as E;
  await engine.default({ module_or_path: bytes });
  return engine;
}
