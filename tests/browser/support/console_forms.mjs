/** Helpers that fill in the console's forms and read its facts. */

import { readFileSync } from 'node:fs';

import { root } from './paths.mjs';

export const MODEL = `${root}examples/digits/model.onnx`;

/** Fills in a field of the form with every key. `path` is the field's path in the task file. */
export async function set(page, path, value) {
  if ((await page.locator('details.every-key[open]').count()) === 0) await page.locator('details.every-key > summary').click();
  await page.locator(`[name="${path}"]`).fill(String(value));
}

/** Returns the text of the fact with this name in a view. */
export function fact(page, name) {
  return page
    .locator('.facts > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
    .locator('dd')
    .first();
}

export async function confirm(page, name) {
  await page.locator('dialog[open]').getByRole('button', { name }).click();
}

/** Creates a task from the text of a task file. */
export async function createFromToml(page, coordinator, toml) {
  await page.goto(`${coordinator.url}/console/tasks/new`);
  await page.getByLabel('ONNX file').setInputFiles(MODEL);
  await page.getByRole('button', { name: 'Edit as TOML' }).click();
  await page.getByLabel('Task file').fill(toml);
  await page.getByText('No problems found.').waitFor();
  await page.getByRole('button', { name: 'Create the task' }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  return page.url().split('/').at(-1);
}

export function toml(name, population, extra = '', rounds = 500) {
  return `name = "${name}"
population = "${population}"
[plan]
loss = "softmax_cross_entropy"
epochs = 1
batch_size = 16
optimizer = { sgd = { learning_rate = 0.1 } }
[scheduling]
kind = "synchronous"
report_goal = 2
over_selection_factor = 1.0
[stop]
rounds = ${rounds}
${extra}`;
}

/** Uploads a model whose weights are in a second file: without this file, with a part of it, and with the whole file. */
export async function bringWithDataFile(page) {
  const [model, data] = ['two_files.onnx', 'two_files.onnx.data'].map((name) => `${root}tests/engine/exported/${name}`);
  const bring = (files) => page.getByLabel('ONNX file').setInputFiles(files);
  await bring(model);
  await page.getByText('is stored in another file, which was not given').waitFor();
  await bring([model, `${root}README.md`]);
  await page.getByText('two_files.onnx stores weights in two_files.onnx.data. Choose that file, too').waitFor();
  const cut = { name: 'two_files.onnx.data', mimeType: 'application/octet-stream', buffer: readFileSync(data).subarray(0, 100) };
  await bring([{ ...cut, name: 'two_files.onnx', buffer: readFileSync(model) }, cut]);
  await page.getByText('two_files.onnx.data has 100 bytes, but two_files.onnx needs').waitFor();
  await bring([data, model]);
  await fact(page, 'Digest').waitFor();
}
