/** What the tests call in a page: a client, and what it told. */

import { Folkmoot } from '/folkmoot/index.js';

globalThis.Folkmoot = Folkmoot;
globalThis.told = [];

/** Those who wait for something that was not told yet. */
const waiting = new Set();

const NAMES = [
  'enrolled',
  'waiting',
  'assigned',
  'device',
  'training',
  'evaluating',
  'uploading',
  'round',
  'aborted',
  'dropped',
  'backing_off',
  'model',
  'paused',
  'resumed',
  'standby',
  'stopped',
];

/** Remembers what a client told. */
globalThis.tell = (name, value) => {
  // A page that listens for hours must not keep every step.
  if (told.length < 5000) {
    told.push({ at: performance.now(), name, ...value });
    waiting.forEach((look) => look());
  }
};

/** Connects, agrees, adds these examples, and remembers everything that is told. */
globalThis.open = async (options, examples) => {
  globalThis.client = await Folkmoot.connect({ examples: { shape: [64] }, waitSeconds: 5, ...options });
  for (const name of NAMES) {
    client.on(name, (value) => tell(name, value));
  }
  await client.consent.give('I take part');
  if (examples.length > 0) {
    await client.examples.add(examples);
  }
};

/** Returns what was told under this name after `from` others. How long that may take is the test's to say. */
globalThis.heard = (name, from = 0) =>
  new Promise((resolve) => {
    const look = () => {
      const found = told.filter((event) => event.name === name)[from];
      if (found !== undefined) {
        waiting.delete(look);
        resolve(found);
      }
    };
    waiting.add(look);
    look();
  });

globalThis.isReady = true;
