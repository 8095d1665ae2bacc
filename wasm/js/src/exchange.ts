/** Secure aggregation: performs the orders of the module `masks`, as `client-sdk/src/client/exchange.rs` does natively. */

import { AnswerError, type Assignment, answerOf, type RunnerHost } from './effects.js';
import { loadMasks } from './engine.js';
import { Traffic } from './limits.js';
import { sendLogged } from './log.js';
import type { Storage } from './storage.js';

/** The seconds for which the coordinator may hold a request until it has an answer. */
const WAIT_SECONDS = 30;
/** The maximum number of bytes of an answer, as in `client-sdk/protocol/src/limits.rs`. */
const SECURE_BYTES_MAX = 4 * 1024 * 1024;

/** The next actions of a step, to be performed in the order of the fields. */
interface Order {
  /** True if the journal must be stored durably. */
  stores: boolean;
  /** The message to send. */
  sends: { step: string } | null;
  /** The continuation: sign a text, ask for the answer to a step, or end the step with a result. */
  next: { sign?: string; ask?: string; end?: string };
}

/** Takes one step and returns its result for the session. */
export async function exchange(host: RunnerHost, assignment: Assignment, step: string, signal: AbortSignal): Promise<string> {
  const { blobs, budget, key, storage } = host;
  const module = await loadMasks();
  const id = assignment.assignment_id;
  const plan = await blobs.read(assignment.plan.digest);
  if (plan === undefined) {
    throw new AnswerError({ work_failed: { reason: 'fetch_failed', detail: 'the plan is no longer in the cache' } });
  }
  const stored = await loadJournal(storage, id);
  const described = JSON.stringify(assignment);
  const exchange = await key.withDeviceKey((deviceKey) =>
    module.Exchange.begin(JSON.stringify(step), described, plan, budget.json, deviceKey, stored),
  );
  try {
    for (;;) {
      signal.throwIfAborted();
      const { stores, sends, next } = JSON.parse(exchange.order) as Order;
      if (stores) {
        await saveJournal(storage, id, exchange.journal);
      }
      if (sends !== null) {
        await send(host, assignment, sends, signal);
      }
      if (next.sign !== undefined) {
        exchange.signed(key.publicKey, await key.sign(next.sign));
      } else if (next.ask !== undefined) {
        const answer = await ask(host, assignment, next.ask, signal);
        take(host, () => exchange.answered(JSON.stringify(answer)));
      } else {
        return next.end ?? 'waiting';
      }
    }
  } finally {
    exchange.free();
  }
}

/** Returns the state of an assignment's secure aggregation. It has no secret in the clear. */
export function loadJournal(storage: Storage, id: string): Promise<string | undefined> {
  return storage.get<string>('work', `${id}.journal`);
}

async function saveJournal(storage: Storage, id: string, journal: string): Promise<void> {
  try {
    await storage.put('work', journal, `${id}.journal`);
  } catch (error) {
    throw new AnswerError({ work_failed: { reason: 'state_lost', detail: String(error) } });
  }
}

async function send(host: RunnerHost, assignment: Assignment, message: { step: string }, signal: AbortSignal): Promise<void> {
  const { assignment_id, task_id: taskId, round_number: roundNumber } = assignment;
  const traffic = new Traffic(host.day);
  const request = { method: 'POST', path: `/v1/assignments/${assignment_id}/secure`, json: message, traffic } as const;
  // The entry is written before sending, because a page that is closed in the meantime may have sent the message.
  const bytesSent = new TextEncoder().encode(JSON.stringify(message)).byteLength;
  const detail = `secure aggregation: ${message.step}`;
  await host.log.write({ action: 'sent', bytesSent, bytesReceived: 0, taskId, roundNumber, detail });
  try {
    await host.transport.json(request, signal);
  } finally {
    await host.day.save();
  }
}

function ask(host: RunnerHost, assignment: Assignment, after: string, signal: AbortSignal): Promise<unknown> {
  const { assignment_id, task_id: taskId, round_number: roundNumber } = assignment;
  const path = `/v1/assignments/${assignment_id}/secure?after=${after}&wait_seconds=${WAIT_SECONDS}`;
  const millisecondsMax = (30 + WAIT_SECONDS) * 1000;
  const request = { method: 'GET', path, millisecondsMax, answerBytesMax: SECURE_BYTES_MAX } as const;
  const detail = 'asked for the next message of secure aggregation';
  const entry = { action: 'asked', taskId, roundNumber, detail } as const;
  return sendLogged(host, entry, (traffic) => host.transport.json({ ...request, traffic }, signal));
}

/** An answer that the module cannot parse does not come from a coordinator. It is treated as a network failure. */
function take(host: RunnerHost, answered: () => void): void {
  try {
    answered();
  } catch (error) {
    if (answerOf(error) !== null || error instanceof WebAssembly.RuntimeError) {
      throw error;
    }
    throw host.transport.broken(`the answer cannot be parsed: ${String(error)}`);
  }
}
