/**
 * Keeps the hidden page open in which the client trains. This service worker cannot train itself: it may not start other
 * workers, and Chrome ends it when it has had nothing to do for half a minute.
 */

let opening = null;

/** Returns when the hidden page hears messages. */
async function openTrainer() {
  // Two callers at the same time must not open two pages: Chrome allows one. It lists a page before the page has loaded.
  opening ??= openOnce().finally(() => {
    opening = null;
  });
  await opening;
}

async function openOnce() {
  const open = await chrome.runtime.getContexts({ contextTypes: ['OFFSCREEN_DOCUMENT'] });
  if (open.length === 0) {
    const justification = 'Trains a model in a worker, on ratings that stay here.';
    await chrome.offscreen.createDocument({ url: 'trainer.html', reasons: ['WORKERS'], justification });
  }
}

chrome.runtime.onStartup.addListener(openTrainer);
chrome.runtime.onInstalled.addListener(openTrainer);
chrome.runtime.onMessage.addListener((message, _sender, answer) => {
  if (message.to !== 'background') {
    return false;
  }
  openTrainer().then(
    () => answer({}),
    (error) => answer({ error: error.message }),
  );
  return true;
});
