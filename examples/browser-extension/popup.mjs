/** The popup: shows what the model thinks of a page, takes ratings, and asks for consent. */

const byId = (id) => document.getElementById(id);
const [title, consent] = [byId('title'), byId('consent')];

/** Calls the trainer. Errors are shown to the user. */
async function call(name, more = {}) {
  const { value, error } = await chrome.runtime.sendMessage({ to: 'trainer', call: name, ...more });
  if (error !== undefined) {
    byId('status').textContent = error;
  }
  return value;
}

function show(state) {
  if (state === undefined) {
    return;
  }
  consent.checked = state.isTakingPart;
  const { ratings, rounds, line } = state;
  byId('status').textContent = `Ratings: ${ratings}. Rounds: ${rounds}. ${line}`;
}

async function guess() {
  const asked = title.value;
  const { value, error, code } = await chrome.runtime.sendMessage({ to: 'trainer', call: 'predict', title: asked });
  if (asked !== title.value) {
    return; // A later answer is for what the field says now.
  }
  const problem = code === 'no_model' ? 'There is no model before the first round.' : error;
  byId('guess').dataset.title = asked;
  byId('guess').textContent = problem ?? `Worth reading: ${Math.round(100 * value)} %`;
}

chrome.runtime.onMessage.addListener((message) => {
  if (message.to === 'popup') {
    show(message.state);
    void guess();
  }
});
for (const [id, label] of [
  ['yes', 1],
  ['no', 0],
]) {
  byId(id).addEventListener('click', async () => show(await call('rate', { title: title.value, label })));
}
consent.addEventListener('change', async () => {
  const text = consent.labels[0].textContent.trim();
  show(consent.checked ? await call('takePart', { text }) : await call('withdraw'));
});
title.addEventListener('input', guess);

const { error } = await chrome.runtime.sendMessage({ to: 'background' });
if (error !== undefined) {
  byId('status').textContent = error;
}
const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
title.value = tab?.title ?? '';
show(await call('state'));
await guess();
