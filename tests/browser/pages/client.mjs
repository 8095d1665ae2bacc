/** What the tests call in a page: a client, what it told, and the tasks of the main thread that took long. */

import { Folkmoot } from '/folkmoot/index.js';

globalThis.Folkmoot = Folkmoot;
globalThis.told = [];
globalThis.longTasks = [];

new PerformanceObserver((list) => {
  longTasks.push(...list.getEntries().map(({ startTime, duration }) => ({ startTime, duration })));
}).observe({ type: 'longtask', buffered: true });

const NAMES = [
  'enrolled', 'waiting', 'assigned', 'device', 'training', 'evaluating', 'uploading', 'round', 'aborted',
  'dropped', 'backing_off', 'model', 'paused', 'resumed', 'standby', 'stopped',
];

/** Connects, agrees, adds these examples, and remembers everything that is told. */
globalThis.open = async (options, examples) => {
  globalThis.client = await Folkmoot.connect({ examples: { shape: [64] }, waitSeconds: 5, ...options });
  for (const name of NAMES) {
    client.on(name, (value) => {
      // A page that listens for hours must not keep every step.
      if (told.length < 5000) {
        told.push({ at: performance.now(), name, ...value });
      }
    });
  }
  await client.consent.give('I take part');
  if (examples.length > 0) {
    await client.examples.add(examples);
  }
};

/** Waits until something of this name was told, after `from` others, and returns it. */
globalThis.heard = async (name, milliseconds = 30_000, from = 0) => {
  const end = performance.now() + milliseconds;
  for (;;) {
    const found = told.filter((event) => event.name === name)[from];
    if (found !== undefined) {
      return found;
    }
    if (performance.now() > end) {
      const names = told.slice(-10).map((event) => JSON.stringify(event)).join('\n');
      throw new Error(`\`${name}\` was not heard; the last were:\n${names}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

globalThis.isReady = true;
