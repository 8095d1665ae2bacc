/**
 * The page: a drawing pad, a client, and their state. `folkmoot demo --browser` serves it with the package, the digits,
 * and a `config.json` with the coordinator, the token, and the number of held-out digits.
 */

import { draw } from './chart.mjs';
import { Folkmoot } from './folkmoot/index.js';
import { Pad } from './pad.mjs';

const SIZE = 64;
const STARTERS = 200;

const $ = (id) => document.getElementById(id);
const rounds = [];
let lastLoss = null;

const config = await (await fetch('config.json')).json();
const digits = parse(await (await fetch('digits.csv')).text());
const others = digits.slice(0, -config.held_out);
/** The held-out digits: the last ones of the file. No client trains on them. */
const heldOut = digits.slice(-config.held_out);
const client = await Folkmoot.connect({
  coordinator: config.coordinator,
  enrolmentToken: config.token,
  examples: { shape: [SIZE], expiresAfterDays: 30 },
  waitSeconds: 10,
});
const pad = new Pad($('pad'), guess);

for (let digit = 0; digit < 10; digit += 1) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = String(digit);
  button.addEventListener('click', () => label(digit));
  $('labels').append(button);
  const bar = document.createElement('div');
  const [name, value, share] = ['span', 'progress', 'span'].map((tag) => document.createElement(tag));
  name.textContent = String(digit);
  value.max = 1;
  value.value = 0;
  bar.append(name, value, share);
  $('bars').append(bar);
}

async function label(digit) {
  const features = pad.features();
  if (features !== null) {
    await client.examples.add({ features, label: digit });
    pad.clear();
    await showHeld();
  }
}

async function showHeld() {
  const count = await client.examples.count();
  $('held').textContent = `${count} example${count === 1 ? '' : 's'} here`;
}

/** Shows the newest model's guess for the drawing. */
async function guess() {
  const features = pad.features();
  if (features === null) {
    return;
  }
  try {
    const shares = softmax((await client.predict(features)).outputs);
    $('guess').textContent = String(shares.indexOf(Math.max(...shares)));
    [...$('bars').children].forEach((bar, digit) => {
      bar.children[1].value = shares[digit];
      bar.children[2].textContent = `${Math.round(100 * shares[digit])} %`;
    });
  } catch (error) {
    if (error.code !== 'no_model') {
      throw error;
    }
  }
}

/** Measures the newest model on the held-out digits. */
async function measure() {
  const features = new Float32Array(heldOut.length * SIZE);
  heldOut.forEach((digit, index) => features.set(digit.features, index * SIZE));
  const { outputs } = await client.predict(features);
  const right = heldOut.filter(({ label }, index) => {
    const scores = outputs.slice(10 * index, 10 * (index + 1));
    return scores.indexOf(Math.max(...scores)) === label;
  });
  return right.length / heldOut.length;
}

async function showLog() {
  const entries = (await client.log())
    .filter(({ action }) => action !== 'asked')
    .slice(-8)
    .reverse();
  const rows = entries.map((entry) => {
    const row = document.createElement('tr');
    const what = entry.detail === undefined ? entry.action : `${entry.action}: ${entry.detail}`;
    const cells = [
      new Date(entry.at).toLocaleTimeString('en-GB'),
      what.length > 60 ? `${what.slice(0, 59)}…` : what,
      entry.roundNumber ?? '',
      entry.bytesSent.toLocaleString('en'),
      entry.bytesReceived.toLocaleString('en'),
    ];
    cells.forEach((text, column) => {
      const cell = document.createElement('td');
      cell.textContent = String(text);
      cell.className = column > 2 ? 'number' : '';
      row.append(cell);
    });
    return row;
  });
  $('log').replaceChildren(...rows);
}

const say = (text) => ($('status').textContent = text);
client.on('waiting', () => say('Waiting for a round'));
client.on('assigned', ({ roundNumber }) => say(`Round ${roundNumber}: fetching the model`));
client.on('device', ({ device }) => ($('device').textContent = device === 'cpu' ? 'CPU' : device));
client.on('training', ({ step, stepsTotal, loss }) => {
  say('Training here');
  lastLoss = loss;
  $('progress').value = step / stepsTotal;
  $('loss').textContent = loss.toFixed(3);
});
client.on('uploading', ({ total }) => say(`Sending ${total.toLocaleString('en')} bytes`));
client.on('paused', ({ reason }) => say(`Paused (${reason})`));
client.on('resumed', () => say('Resumed'));
client.on('standby', () => say('Another tab of this page is training'));
client.on('backingOff', () => say('Cannot reach the coordinator; retrying soon'));
client.on('stopped', ({ reason, detail }) => say(reason === 'requested' ? 'Stopped' : `Stopped: ${reason} ${detail}`));
client.on('model', async () => {
  $('no-model').hidden = true;
  const accuracy = await measure();
  const round = rounds.at(-1);
  if (round !== undefined && round.accuracy === null) {
    round.accuracy = accuracy;
  }
  $('accuracy').textContent = `${(100 * accuracy).toFixed(1)} %`;
  draw($('chart'), rounds);
  await guess();
});
client.on('round', async ({ roundNumber }) => {
  say(`Round ${roundNumber}: the update was accepted`);
  rounds.push({ round: roundNumber, loss: lastLoss, accuracy: null });
  $('rounds').textContent = String(rounds.length);
  draw($('chart'), rounds);
  await showLog();
});

async function takePart() {
  $('gate').hidden = true;
  $('taking-part').hidden = false;
  say('Waiting for a round');
  await client.start();
}

$('agree').addEventListener('click', async () => {
  await client.consent.give($('agreement').textContent.replace(/\s+/g, ' ').trim());
  await takePart();
});
$('clear').addEventListener('click', () => pad.clear());
$('starters').addEventListener('click', async () => {
  const from = Math.floor(Math.random() * (others.length - STARTERS));
  await client.examples.add(others.slice(from, from + STARTERS));
  await showHeld();
});
$('pause').addEventListener('click', () => {
  const isPausing = $('pause').textContent === 'Pause';
  $('pause').textContent = isPausing ? 'Resume' : 'Pause';
  if (isPausing) {
    client.pause('you paused it');
  } else {
    client.resume();
  }
});
$('stop').addEventListener('click', async () => {
  await client.consent.withdraw();
  $('gate').hidden = false;
  $('taking-part').hidden = true;
});
$('forget').addEventListener('click', async () => {
  await client.forget();
  location.reload();
});

function parse(text) {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const numbers = line.split(',').map(Number);
      return { features: numbers.slice(0, SIZE), label: numbers[SIZE] };
    });
}

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

$('held-out').textContent = String(heldOut.length);
draw($('chart'), rounds);
await showHeld();
await showLog();
if (await client.consent.isGiven()) {
  await takePart();
}
document.documentElement.dataset.ready = 'true';
