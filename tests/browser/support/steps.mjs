/** Observes the training steps in a page's worker, and can hold and release them. */

/**
 * Observes the worker of a page whose client has not started. `build` is the WebAssembly module that the worker uses.
 */
export async function watchSteps(page, build = 'cpu') {
  const worker = page.workers().at(-1);
  await worker.evaluate(async (build) => {
    const { AssignedWork } = await import(`/folkmoot/${build}/folkmoot.js`);
    const { advance } = AssignedWork.prototype;
    const post = self.postMessage.bind(self);
    const now = performance.now.bind(performance);
    const journal = [];
    let chunksLeft = Infinity;
    let clockOffset = 0;
    let letGo = () => undefined;
    let isHeld, nowHeld;
    const expectHold = () => (isHeld = new Promise((resolve) => (nowHeld = resolve)));
    self.postMessage = (message) => {
      if (message.kind === 'answer' || message.kind === 'event') {
        journal.push(message.event?.name ?? message.kind);
      }
      post(message);
    };
    performance.now = () => now() + clockOffset;
    AssignedWork.prototype.advance = async function () {
      journal.push('chunk');
      while (chunksLeft === 0) {
        const go = new Promise((resolve) => (letGo = resolve));
        nowHeld();
        await go;
      }
      chunksLeft -= 1;
      return advance.call(this);
    };
    globalThis.steps = {
      journal,
      allow(chunks) {
        chunksLeft = chunks;
        expectHold();
        letGo();
      },
      held: () => isHeld,
      skip: (milliseconds) => void (clockOffset += milliseconds),
    };
  }, build);
  return {
    /**
     * Returns the journal. Its entries are `chunk` when a chunk of steps begins, `answer` for a response to the page,
     * and the names of events.
     */
    journal: () => worker.evaluate(() => steps.journal),
    /** Allows this number of further chunks of steps. The training is then held at the start of the next chunk. */
    allow: (chunks) => worker.evaluate((chunks) => steps.allow(chunks), chunks),
    /** Lets the training continue to its end. */
    go: () => worker.evaluate(() => steps.allow(Infinity)),
    /** Resolves when the training is held. */
    held: () => worker.evaluate(() => steps.held()),
    /** Advances the clock by which the training measures time. */
    skip: (milliseconds) => worker.evaluate((milliseconds) => steps.skip(milliseconds), milliseconds),
  };
}
