/** The client, in a page that nobody sees. The popup calls it by messages, and every change is announced to the popup. */

import { FEATURES, features } from './features.mjs';
import { Folkmoot } from './folkmoot/index.js';
import { settings } from './settings.mjs';

const state = { isTakingPart: false, ratings: 0, rounds: 0, line: '' };
const opened = open();

async function open() {
  const client = await Folkmoot.connect({
    ...settings,
    // So small a model is not worth a graphics adapter.
    device: 'cpu',
    examples: { shape: [FEATURES], expiresAfterDays: 90 },
    limits: { bytesPerDay: 20_000_000, modelBytesMax: 1_000_000, trainingSecondsMax: 60 },
  });
  client.on('waiting', () => announce({ line: 'Waiting for a round.' }));
  client.on('round', ({ roundNumber }) => announce({ rounds: state.rounds + 1, line: `Round ${roundNumber} has an update from here.` }));
  client.on('backingOff', ({ detail }) => announce({ line: `Trying again: ${detail}` }));
  client.on('stopped', ({ detail }) => announce({ isTakingPart: false, line: detail ?? 'Stopped.' }));
  state.ratings = await client.examples.count();
  if (await client.consent.isGiven()) {
    await client.start();
    state.isTakingPart = true;
  }
  return client;
}

const calls = {
  state: async () => state,
  /** Stores a rating: 1 for a page that was worth reading, otherwise 0. */
  rate: async (client, { title, label }) => {
    await client.examples.add({ features: features(title), label });
    return announce({ ratings: await client.examples.count() });
  },
  takePart: async (client, { text }) => {
    await client.consent.give(text);
    await client.start();
    return announce({ isTakingPart: true });
  },
  withdraw: async (client) => {
    await client.consent.withdraw();
    return announce({ isTakingPart: false, line: 'Stopped.' });
  },
  /** Returns the newest model's probability that a page is worth reading. Fails with `no_model` before the first round. */
  predict: async (client, { title }) => {
    const { outputs } = await client.predict(features(title));
    return 1 / (1 + Math.exp(-outputs[0]));
  },
};

function announce(change) {
  Object.assign(state, change);
  // It fails if no popup is open.
  chrome.runtime.sendMessage({ to: 'popup', state }).catch(() => undefined);
  return state;
}

// The listener exists before the client is open, so that no message is lost.
chrome.runtime.onMessage.addListener((message, _sender, answer) => {
  if (message.to !== 'trainer') {
    return false;
  }
  opened
    .then((client) => calls[message.call](client, message))
    .then(
      (value) => answer({ value }),
      ({ message, code }) => answer({ error: message, code }),
    );
  return true;
});
