/** The steps of a training in a page's worker: watched, held and let go. */

/** Watches the worker of a page whose client has not started. `build` is the module that it has loaded. */
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
    /** Returns, in order, `chunk` for some steps that begin, `answer` for one to a call of the page, and names of events. */
    journal: () => worker.evaluate(() => steps.journal),
    /** Lets so many chunks of steps be taken, and holds the training when it begins the next. */
    allow: (chunks) => worker.evaluate((chunks) => steps.allow(chunks), chunks),
    /** Lets the training go on to its end. */
    go: () => worker.evaluate(() => steps.allow(Infinity)),
    /** Returns when the training is held. */
    held: () => worker.evaluate(() => steps.held()),
    /** Sets the clock forward by which the training is timed. */
    skip: (milliseconds) => worker.evaluate((milliseconds) => steps.skip(milliseconds), milliseconds),
  };
}
