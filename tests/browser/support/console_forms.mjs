/** Helpers that fill in the console's forms and read its facts. */

import { root } from './paths.mjs';

export const MODEL = `${root}examples/digits/model.onnx`;

/** Fills in a field of the task form. `path` is the field's path in the task file. */
export async function set(page, path, value) {
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
