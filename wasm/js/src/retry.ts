/** Repeats calls that fail for a temporary reason. */

import { type Engine, ModuleError } from './engine.js';
import type { ClientEvent } from './messages.js';
import type { Pace } from './pace.js';
import { RequestError } from './transport.js';

/** Repeats an attempt while the coordinator, or a module of this package, cannot be reached. */
export async function untilReached<T>(
  host: { engine: Engine; pace: Pace; emit: (event: ClientEvent) => void },
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    await host.pace.untilAllowed(signal);
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const failure = error instanceof RequestError ? error.refusal.failure : null;
      if (!(error instanceof ModuleError) && failure?.disposition !== 'retry') {
        throw error;
      }
      const until = host.engine.backOffUntil(Date.now(), failures, failure?.retry_after_milliseconds ?? undefined);
      const detail = error instanceof Error ? error.message : String(error);
      host.emit({ name: 'backingOff', value: { until, failures, detail } });
      await sleep(until - Date.now(), signal);
    }
  }
}

export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, Math.max(0, milliseconds));
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
  signal.throwIfAborted();
}
