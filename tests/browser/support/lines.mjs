/** Waits for the lines of programs. */

import { createInterface } from 'node:readline';

/** The longest wait. */
const PATIENCE_MILLISECONDS = 120_000;

/** The lines that programs have written. A program that starts again can be followed, too. */
export class Lines {
  /** Calls `heard` with every line. */
  constructor(heard = () => undefined) {
    this.heard = heard;
    this.all = [];
    this.expect();
  }

  /** Reads a stream to its end, in the background. */
  follow(stream) {
    createInterface({ input: stream }).on('line', (line) => {
      this.all.push(line);
      this.heard(line);
      this.tell();
      this.expect();
    });
    return this;
  }

  /** Promises the next line. */
  expect() {
    this.next = new Promise((resolve) => {
      this.tell = resolve;
    });
  }

  /** Calls `probe` now and after each line, until its result is not null. Returns that result. `what` names it in the error. */
  async until(what, probe) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not come in time`)), PATIENCE_MILLISECONDS);
    });
    try {
      for (;;) {
        // A line that arrives while the probe runs may report an event that the probe has not seen.
        const next = this.next;
        const found = await probe();
        if (found !== null) {
          return found;
        }
        await Promise.race([next, late]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
