/** The functions that tests call in a page. They control a client and record the events that it emits. */

import { Folkmoot } from '/folkmoot/index.js';

import '/trainers.mjs';

globalThis.Folkmoot = Folkmoot;
globalThis.told = [];

/** Waiters for events that have not been emitted yet. */
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
  'backingOff',
  'model',
  'paused',
  'resumed',
  'standby',
  'stopped',
];

/** Records an event of a client. */
globalThis.tell = (name, value) => {
  // The limit keeps a page that runs for hours from storing an event for every step.
  if (told.length < 5000) {
    told.push({ at: performance.now(), name, ...value });
    waiting.forEach((look) => look());
  }
};

/** Connects, consents to training, adds `examples`, and records all events. With a `trainer`, the examples are its own. */
globalThis.open = async ({ trainer: name, ...options }, examples) => {
  const trained = name === undefined ? { examples: { shape: [64] } } : { trainer: trainers[name] };
  globalThis.client = await Folkmoot.connect({ ...trained, waitSeconds: 5, ...options });
  for (const name of NAMES) {
    client.on(name, (value) => tell(name, value));
  }
  await client.consent.give('I take part');
  if (name !== undefined) {
    globalThis.digits = examples;
  } else if (examples.length > 0) {
    await client.examples.add(examples);
  }
};

/** Resolves with the event of this name after the first `from` events of this name. */
globalThis.heard = (name, from = 0) => heardWhere((event) => event.name === name, from);

/** Resolves with the wanted event after the first `from` wanted events. There is no time limit; the test sets one. */
globalThis.heardWhere = (isWanted, from = 0) =>
  new Promise((resolve) => {
    const look = () => {
      const found = told.filter(isWanted)[from];
      if (found !== undefined) {
        waiting.delete(look);
        resolve(found);
      }
    };
    waiting.add(look);
    look();
  });

globalThis.isReady = true;
