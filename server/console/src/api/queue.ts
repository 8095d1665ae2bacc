/** A queue for many small requests, so that those that a view needs first do not wait behind them. */

const AT_ONCE = 3;

let running = 0;
const waiting: (() => void)[] = [];

/** Runs `request` when fewer than three others of the queue are running, in the order of the calls. */
export async function queued<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    signal.throwIfAborted();
    return await request();
  } finally {
    const next = waiting.shift();
    // The next request takes over the place of this one.
    if (next) next();
    else running--;
  }
}
