/** Tests the pure parts of the console: the answers about a task, its estimates, and the smoothing of its charts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';

import { root } from './support/paths.mjs';

const SOURCES = [
  'insight/standing',
  'insight/learning',
  'insight/projection',
  'insight/rollouts',
  'charts/smooth',
  'charts/save',
  'views/compared',
  'views/create/cost',
  'format',
];
const contents = SOURCES.map((source) => `export * from './${source}';`).join('\n');
const bundled = await build({
  stdin: { contents, resolveDir: `${root}server/console/src`, loader: 'ts' },
  bundle: true,
  write: false,
  format: 'esm',
});
const { standing, headline, trend, projected, versionsLeft, averaged, csv, cost, relative, merged, positions, values, ...rollouts } =
  await import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].text).toString('base64')}`);

const NOW = 1_000_000;
const TASK = {
  id: 'task',
  state: 'active',
  rounds_committed: 30,
  description: { name: 'digits', population: 'app', stop: { rounds: 100 } },
};
const STATEMENT = { is_private: false, is_seeded: false, sentences: [] };

/** A history with one version every 10 s, whose central accuracy is `accuracy(version)`. */
function series(length, accuracy) {
  const points = Array.from({ length }, (_, version) => ({
    version,
    created_at: NOW - (length - 1 - version) * 10_000,
    round_number: version === 0 ? null : version,
    accuracy: 0.5,
    loss: 1,
    change_norm: 0.1,
  }));
  const evaluations = points.map(({ version }) => ({
    version,
    source: 'central',
    metric: 'accuracy',
    metrics: { accuracy: accuracy(version) },
  }));
  return { points, evaluations, stride: 1 };
}

function selecting(needed) {
  return { round: { id: 'r', number: 31, phase: 'selecting', created_at: NOW - 5_000 }, awaited: { needed, until: NOW + 60_000 } };
}

const facts = (part = {}) => ({
  task: TASK,
  series: series(31, (version) => 0.5 + version / 100),
  statement: STATEMENT,
  rounds: [],
  population: { name: 'app', waiting: 7, enrolled: 9 },
  now: NOW,
  ...part,
});

test('a task that learns says by how much, on held-out examples', () => {
  const { line, learning } = standing(facts());
  assert.equal(line, learning);
  assert.equal(learning.verdict, 'Learning');
  assert.equal(learning.cause, 'The accuracy on your examples is 80.0 %, +10.0 points over the last 10 measured versions');
});

test('the held-out metric comes before that of training, which says that it is one', () => {
  const history = series(10, () => 0.9);
  assert.equal(headline(history).source, 'central');
  assert.equal(headline({ ...history, evaluations: [] }).source, 'training');
  const federated = history.evaluations.map((one) => ({ ...one, source: 'federated' }));
  assert.equal(headline({ ...history, evaluations: [...federated, ...history.evaluations.slice(0, 1)] }).source, 'central');
});

test('a level, a falling and a diverging metric are told apart', () => {
  const of = (length, accuracy) => standing(facts({ series: series(length, accuracy) })).learning;
  assert.equal(of(3, () => 0.5).verdict, 'Too early to say');
  assert.equal(of(31, () => 0.8).verdict, 'Level');
  assert.equal(of(31, (version) => 0.9 - version / 100).verdict, 'Getting worse');
  const losses = series(10, () => 0).points.map((point) => ({ ...point, accuracy: null, loss: point.version < 5 ? 1 : 3 }));
  assert.equal(standing(facts({ series: { points: losses, evaluations: [] } })).line.verdict, 'Diverging');
  assert.equal(trend({ metric: 'loss', points: [4, 3, 2, 1].map((value, version) => ({ version, value })) }).trend, 'rising');
});

test('a waiting round says for how many clients, until when, and what to do', () => {
  const population = { name: 'app', waiting: 5, enrolled: 9 };
  const { line } = standing(facts({ funnel: selecting(7), population }));
  assert.deepEqual([line.verdict, line.cause, line.until], ['Waiting', 'Waits for 2 of 7 clients', NOW + 60_000]);
  const few = standing(facts({ funnel: selecting(7), population: { ...population, enrolled: 5 } })).line;
  assert.equal(few.tone, 'warn');
  assert.match(few.remedy, /Only 5 clients are enrolled/);
  const hidden = standing(facts({ funnel: selecting(7), population: { ...population, waiting: null } })).stuck;
  assert.equal(hidden.cause, 'The round waits for clients');
});

test('three abandoned rounds in a row mean that a task is stuck, unless an operator ended them', () => {
  const abandoned = (reason) => [3, 2, 1].map((number) => ({ id: `r${number}`, number, phase: 'abandoned', reason }));
  const { line } = standing(facts({ rounds: abandoned('too_few_reports') }));
  assert.deepEqual([line.tone, line.verdict, line.link.to], ['bad', 'Stuck', '/rounds/r3']);
  assert.match(line.cause, /last 3 rounds were abandoned: too few reports/);
  assert.equal(standing(facts({ rounds: abandoned('task_paused') })).line.verdict, 'Learning');
  assert.equal(standing(facts({ rounds: abandoned('too_few_reports').slice(1) })).stuck.tone, 'good');
});

test('a round that takes much longer than usual is slow', () => {
  const round = { id: 'r', number: 31, phase: 'reporting', created_at: NOW - 60_000 };
  const funnel = { round, accepted: 3, awaited: { needed: 7, until: NOW + 9_000 } };
  const { line } = standing(facts({ funnel }));
  assert.equal(line.verdict, 'Slow');
  assert.equal(line.cause, 'Round 31 has 3 of 7 updates after 60 s; a round usually takes 10 s');
  const usual = standing(facts({ funnel: { ...funnel, round: { ...round, created_at: NOW - 1_000 } } })).stuck;
  assert.equal(usual.tone, 'good');
});

test('a task that does not run says why', () => {
  const of = (part) => standing(facts({ task: { ...TASK, ...part } })).line;
  assert.equal(of({ state: 'draft' }).verdict, 'Draft');
  assert.equal(of({ state: 'paused' }).cause, 'An operator paused it after 30 rounds');
  const pause = { code: 'abandoned_rounds', reason: 'Too few clients came.', remedy: 'Enrol more.' };
  assert.deepEqual([of({ state: 'paused', pause }).tone, of({ state: 'paused', pause }).remedy], ['bad', 'Enrol more.']);
  assert.equal(of({ state: 'completed', stop_reason: 'plateau' }).cause, 'Its metric stopped improving, after 30 rounds');
});

test('a budget that is nearly spent, and noise that protects nothing, come first', () => {
  const statement = { ...STATEMENT, is_private: true, epsilon_budget: 8, epsilon_spent: 7.6, delta: 1e-6, rho_spent: 0.5, releases: 38 };
  const { line } = standing(facts({ statement }));
  assert.deepEqual([line.tone, line.verdict], ['warn', 'Budget nearly spent']);
  assert.match(line.cause, /^95.0 % of the privacy budget is spent: epsilon 7.6 of 8, enough for about \d+ more versions$/);
  assert.equal(standing(facts({ statement: { ...statement, epsilon_spent: 1 } })).safe.tone, 'good');
  assert.equal(standing(facts({ statement: { ...STATEMENT, is_seeded: true } })).line.tone, 'bad');
  assert.equal(versionsLeft({ ...statement, participations_max: 10 }), Infinity);
});

test('the end is estimated from the median of recent rounds, and moves while a round is late', () => {
  const { points } = series(31, () => 0);
  assert.deepEqual(projected(points, 30, 100, NOW), { left: 70, each: 10_000, from: 10, at: NOW + 700_000 });
  assert.equal(projected(points, 30, 100, NOW + 60_000).at, NOW + 60_000 + 690_000);
  assert.equal(projected(points, 100, 100, NOW), undefined);
  assert.equal(projected(points.slice(0, 1), 0, 100, NOW), undefined);
  const strided = points.filter((_, index) => index % 5 === 0);
  assert.equal(projected(strided, 30, 100, NOW).each, 10_000, 'a gap over five versions is five rounds');
});

test('smoothing keeps a constant and every gap, and a saved table has the values as measured', () => {
  assert.deepEqual(
    averaged([2, null, 2, 2], 0.9).map((value) => value && Number(value.toFixed(9))),
    [2, null, 2, 2],
  );
  assert.deepEqual(averaged([0, 3], 0.5), [0, 2]);
  const x = { label: 'Released', unit: 'time', values: [0, 60_000] };
  assert.equal(
    csv(x, [{ label: 'Accuracy, "mine"', unit: 'share', values: [null, 0.25] }]),
    'Released,"Accuracy, ""mine"" (share)"\r\n1970-01-01T00:00:00.000Z,\r\n1970-01-01T00:01:00.000Z,0.25\r\n',
  );
});

test('the guide computes the cost of a round from the shapes of the tensors', () => {
  const graph = { parameters: [{ shape: [100, 10] }, { shape: [10] }], training_flops: 3_000 };
  const task = { plan: { epochs: 2 }, scheduling: { kind: 'synchronous', report_goal: 10 }, stop: { rounds: 5 } };
  assert.deepEqual(cost(graph, task, 100), { sent: 4_040, fetched: 4_040, drawn: 13, rounds: 5, flops: 600_000 });
  assert.equal(cost(graph, { ...task, compression: { codec: 'eden:4' } }, 100).sent, 540);
  assert.equal(cost(graph, { ...task, compression: { codec: 'top_k:0.01' } }, 100).sent, undefined);
  assert.equal(relative(NOW - 180_000, NOW), '3 min ago');
});

test('compared tasks share an axis of versions, minutes or bytes, with gaps where only others have values', () => {
  const [long, short] = [series(5, (version) => version / 10), series(2, () => 0.5)].map((series) => ({ series }));
  long.series.points.forEach((point) => {
    point.upload_bytes = 100 * point.version;
  });
  assert.deepEqual(merged([long, short], 'versions'), [0, 1, 2, 3, 4]);
  const minutes = merged([long, short], 'time');
  assert.deepEqual([minutes[0], minutes.length, minutes.at(-1).toFixed(3)], [0, 5, '0.667']);
  assert.deepEqual(merged([long, short], 'bytes'), [0, 100, 200, 300, 400], 'a private task has no bytes, and so no points');
  const own = values(short.series, 'central accuracy');
  assert.deepEqual(positions([0, 1, 2], short, 'versions', own), [0.5, 0.5, null]);
  assert.deepEqual(values(short.series, 'federated accuracy'), [null, null]);
  assert.deepEqual(values(short.series, 'training loss'), [1, 1]);
});

test('a rollout says who gets the version, and what the others get', () => {
  const { byChannel, holdText, offerText, shareText, stateText, typedShare } = rollouts;
  const of = (number, part = {}) => ({ number, channel: 'stable', task_id: 'task', version: 3 * number, share: 1, ...part });
  const listed = (rollouts, part = {}) => ({ rollouts, isFirst: true, isLast: true, ...part });
  const [first, second] = [of(3), of(4, { share: 0.1 })];
  const { number: _, ...offer } = second;
  const keeps = (older) => offerText(offer, listed(older)).split('; ')[1];
  assert.equal(
    offerText(offer, listed([first])),
    '10 % of the devices of channel stable get version 12 when their app next asks; the others keep version 9.',
  );
  assert.equal(keeps([of(3, { task_id: 'other' })]), 'the others keep version 9 of another task.');
  const none = 'the others get no rolled-out model.';
  const perhaps = 'the others keep the version of an older rollout, if one includes them.';
  assert.equal(keeps([]), none);
  assert.equal(keeps([of(3, { channel: 'beta' }), of(2, { held: 'why' }), of(1, { share: 0 })]), none);
  assert.equal(keeps([of(3, { share: 0.5 }), of(2)]), perhaps);
  assert.equal(offerText(offer, listed([], { isLast: false })).split('; ')[1], perhaps);

  assert.equal(
    offerText({ ...second, share: 1 }, listed([of(5, { held: 'why' }), second, first])),
    'All devices of channel stable get version 12 when their app next asks.',
  );
  assert.match(offerText(second, listed([of(5), second, first])), /, unless a newer rollout includes them; the others get version 9\.$/);
  assert.match(offerText(second, listed([second], { isFirst: false })), /unless a newer rollout/);
  assert.equal(offerText({ ...second, share: 0 }, listed([second])), 'No device of channel stable gets version 12.');
  assert.equal(holdText(second, listed([second, first])), 'Devices that have version 12 return to version 9 when their app next asks.');
  assert.match(holdText(first, listed([second, first])), /have no rolled-out model any more/);

  const states = [second, first, of(2), of(1, { held: 'why' })];
  assert.deepEqual(
    states.map((one) => stateText(one, listed(states))),
    ['open', 'open', 'open, but rollout 3 reaches all devices', 'held: why'],
  );
  assert.deepEqual([0.07, 1 / 3, 1e-6].map(shareText), ['7 %', '33.3333 %', '0.0001 %']);
  assert.deepEqual(['7', '100', '0', '', ' ', '101', '-1', 'x'].map(typedShare), [0.07, 1, 0, null, null, null, null, null]);
  const beta = of(2, { channel: 'beta' });
  assert.deepEqual(byChannel([second, first, beta]), [
    ['beta', [beta]],
    ['stable', [second, first]],
  ]);
});
