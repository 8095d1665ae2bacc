/** Training loops of an app's own, by name. Each records its works in `works`, and the digits of the page are `digits`. */

globalThis.works = [];
globalThis.digits = [];

/** Resolves when the trainer `waits` has begun for the given time, from 0. */
globalThis.begun = (time = 0) => waitFor(() => works[time]);

/** Lets `waits` continue. */
globalThis.goOn = () => {
  isGoing = true;
  wakers.splice(0).forEach((wake) => wake());
};

/** The largest value of a feature. The model scales features by it. */
const PIXEL_MAX = 16;

let isGoing = false;
const wakers = [];

async function waitFor(probe) {
  for (;;) {
    const found = probe();
    if (found) {
      return found;
    }
    await new Promise((resolve) => wakers.push(resolve));
  }
}

function noted(work) {
  works.push(work);
  wakers.splice(0).forEach((wake) => wake());
}

const one = { exampleCount: 20, loss: 0.5, correctCount: 9, stepCount: 3 };

/** Adds the number of the tensor, from 1, to each value. */
function moved({ weights }) {
  const tensors = Object.entries(weights).map(([name, { values }], index) => [name, values.map((value) => value + index + 1)]);
  return Object.fromEntries(tensors);
}

globalThis.trainers = {
  addsNumbers: {
    exampleCount: () => 20,
    train: async (work) => {
      noted({ ...work, weights: structuredClone(work.weights) });
      return { ...one, weights: moved(work) };
    },
    evaluate: async (work) => {
      noted(work);
      return { exampleCount: 20, loss: 0.25, correctCount: 15 };
    },
  },
  /** Trains the last layer of the digits classifier, in place. */
  lastLayer: {
    exampleCount: async () => digits.length,
    train: async (work) => {
      let lossSum = 0;
      for (let epoch = 0; epoch < work.plan.training.epochs; epoch += 1) {
        if (await work.isStopped()) {
          break;
        }
        lossSum = digits.reduce((sum, digit) => sum + step(work.weights, digit, 0.05), 0);
      }
      return { weights: work.weights, exampleCount: digits.length, loss: lossSum / digits.length };
    },
  },
  waits: {
    exampleCount: () => 20,
    train: async (work) => {
      noted(work);
      const ended = new Promise((resolve) => work.signal.addEventListener('abort', resolve));
      await Promise.race([waitFor(() => isGoing), ended]);
      globalThis.wasStopped = await work.isStopped();
      return { ...one, weights: work.weights };
    },
  },
  /** Trains until the client asks for a partial update. */
  untilAsked: {
    exampleCount: () => 20,
    train: async (work) => {
      while (!work.isAsked && !(await work.isStopped())) {
        // Not a wait: it lets the page receive the worker's message.
        await new Promise((resolve) => setTimeout(resolve));
      }
      return { ...one, weights: work.weights };
    },
  },
  fails: {
    exampleCount: () => 20,
    train: async () => {
      throw new Error('the diary of 3 March');
    },
  },
  misfits: {
    exampleCount: () => 20,
    train: async ({ weights }) => ({ ...one, weights: { ...weights, 'layer_2.bias': [1, 2] } }),
  },
};

/** Takes a step of gradient descent with one digit, and returns its loss before the step. */
function step(weights, { features, label }, learningRate) {
  const [first, firstBias, last, lastBias] = ['layer_1.weight', 'layer_1.bias', 'layer_2.weight', 'layer_2.bias'].map(
    (name) => weights[name].values,
  );
  const units = firstBias.map((bias, unit) =>
    Math.max(
      0,
      features.reduce((sum, value, at) => sum + (value / PIXEL_MAX) * first[unit * features.length + at], bias),
    ),
  );
  const scores = lastBias.map((bias, kind) => units.reduce((sum, value, unit) => sum + value * last[kind * units.length + unit], bias));
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  const total = powers.reduce((sum, power) => sum + power, 0);
  powers.forEach((power, kind) => {
    const slope = learningRate * (power / total - (kind === label ? 1 : 0));
    lastBias[kind] -= slope;
    units.forEach((value, unit) => {
      last[kind * units.length + unit] -= slope * value;
    });
  });
  return -Math.log(Math.max(powers[label] / total, 1e-9));
}
