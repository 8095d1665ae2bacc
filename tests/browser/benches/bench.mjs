/**
 * `cargo xtask bench browser`: measures how much training disturbs its page. Also compares a training step of the
 * engine and of TensorFlow.js, which take turns in one run of one browser. `--json` prints the figures as JSON.
 * `--seconds N` sets the duration of each measurement.
 */

import { cpus } from 'node:os';

import { openBrowser } from '../support/browser.mjs';
import { measureDisturbance } from '../support/disturbance.mjs';
import { serveSite } from '../support/site.mjs';

const BATCH_SIZE = 32;
const isJson = process.argv.includes('--json');
const seconds = Number(process.argv[process.argv.indexOf('--seconds') + 1]) || 3;
/** The maximum number of steps per measurement. A step of TensorFlow.js may take seconds. */
const STEPS_MAX = 400;

const SYSTEMS = [
  { name: 'Folkmoot, WebAssembly', system: 'folkmoot', build: 'cpu', onDevice: false },
  { name: 'Folkmoot, WebGPU', system: 'folkmoot', build: 'gpu', onDevice: true },
  { name: 'TensorFlow.js, WASM', system: 'tensorflow', backend: 'wasm' },
  { name: 'TensorFlow.js, WebGL', system: 'tensorflow', backend: 'webgl' },
  { name: 'TensorFlow.js, WebGPU', system: 'tensorflow', backend: 'webgpu' },
];

const disturbance = await measureDisturbance(seconds);
if (!isJson) {
  const { pauses, long_tasks: tasks } = disturbance;
  console.log(`a training pauses after ${pauses.median.toFixed(1)} ms, at most ${pauses.largest.toFixed(1)}, ${pauses.count} times`);
  for (const [what, { count, longest }] of [
    ['idle', tasks.idle],
    ['training', tasks.training],
  ]) {
    console.log(`${what}: ${count} tasks of the main thread over 50 ms in ${tasks.seconds} s, the longest ${longest.toFixed(0)} ms`);
  }
}

const site = await serveSite();
const browser = await openBrowser();
const results = [];
try {
  const page = await browser.page(`${site.origin}/bench.html`);
  await page.waitForFunction(() => globalThis.isReady === true);
  for (const network of ['2NN', 'CNN']) {
    for (const { name, system, ...flags } of SYSTEMS) {
      const argument = { ...flags, name: network, batchSize: BATCH_SIZE, milliseconds: 1000 * seconds, stepsMax: STEPS_MAX };
      const measured = await page.evaluate(([system, argument]) => measure(system, argument), [system, argument]);
      const { step = null, steps = 0, version = null } = measured.value ?? {};
      results.push({ network, system: name, milliseconds_per_step: step, steps, version, error: measured.error ?? null });
      if (!isJson) {
        console.log(line(results.at(-1)));
      }
    }
  }
} finally {
  await browser.close();
  await site.close();
}

if (isJson) {
  console.log(JSON.stringify({ batch_size: BATCH_SIZE, processors: cpus().length, disturbance, results }, null, 2));
} else {
  for (const network of ['2NN', 'CNN']) {
    console.log(comparison(network));
  }
}

function line({ network, system, milliseconds_per_step, steps, error }) {
  const time = milliseconds_per_step === null ? 'fails' : `${milliseconds_per_step.toPrecision(3)} ms a step`;
  const rest = error === null ? `median of ${steps} steps` : error.split('\n')[0].slice(0, 120);
  return `${network.padEnd(4)} ${system.padEnd(24)} ${time.padEnd(18)} ${rest}`;
}

function comparison(network) {
  const of = (system) => results.find((result) => result.network === network && result.system === system).milliseconds_per_step;
  const ratio = (slow, fast) => (slow === null || fast === null ? 'no figure' : `${(slow / fast).toFixed(1)} times as fast`);
  const wasm = ratio(of('TensorFlow.js, WASM'), of('Folkmoot, WebAssembly'));
  const gpu = ['WebGPU', 'WebGL'].map((backend) => ratio(of(`TensorFlow.js, ${backend}`), of('Folkmoot, WebGPU')));
  return `${network}: WebAssembly ${wasm} as TensorFlow.js; WebGPU ${gpu[0]} as its WebGPU, ${gpu[1]} as its WebGL`;
}
