/** The worker's end of the message channel to the page. */

import { Client, failureOf } from './client.js';
import type { Answers, Call, ClientEvent, Question, Questions, ToPage, ToWorker } from './messages.js';
import type { AskLoop } from './run_loop.js';
import { FolkmootError } from './types.js';

interface Asked {
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
}

const asked = new Map<number, Asked>();
let questionsAsked = 0;
let client: Client | null = null;
let conditions: { pause: string | null; cpuShare: number } = { pause: null, cpuShare: 1 };

function post(message: ToPage, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function emit(event: ClientEvent): void {
  post({ kind: 'event', event });
}

/** Asks the page. Returns the number of the question, and the answer. */
function ask<Name extends keyof Questions>(
  name: Name,
  about: Questions[Name],
  transfer: Transferable[] = [],
): { id: number; answer: Promise<Answers[Name]> } {
  const id = (questionsAsked += 1);
  const answer = new Promise<Answers[Name]>((resolve, reject) => asked.set(id, { resolve, reject }));
  post({ kind: 'ask', id, question: { name, about } as unknown as Question }, transfer);
  return { id, answer };
}

const askLoop: AskLoop = async (name, input, stop, finish) => {
  const { id, answer } = ask(name, input, [input.weights.buffer]);
  const ended = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const tell = (word: 'finish' | 'stop', signal: AbortSignal) => {
      if (signal.aborted) {
        told();
      } else {
        signal.addEventListener('abort', told, { signal: ended.signal });
      }
      function told(): void {
        post({ kind: 'tell_loop', id, word });
        if (word === 'stop') {
          reject(signal.reason);
        }
      }
    };
    tell('finish', finish);
    tell('stop', stop);
  });
  try {
    return await Promise.race([answer, stopped]);
  } finally {
    ended.abort();
  }
};

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case 'call':
      void answer(data.id, data.call);
      break;
    case 'conditions':
      conditions = data;
      client?.setConditions(data.pause, data.cpuShare);
      break;
    case 'answered':
      asked.get(data.id)?.resolve(data.answer as never);
      asked.delete(data.id);
      break;
    case 'failed':
      asked.get(data.id)?.reject(new Error(data.message));
      asked.delete(data.id);
      break;
    case 'lose_device':
      client?.loseDevice();
      break;
  }
};

async function answer(id: number, call: Call): Promise<void> {
  try {
    post({ kind: 'answer', id, value: await perform(call) });
  } catch (error) {
    const [code, message] = failureOf(error);
    post({ kind: 'failure', id, code, message });
  }
}

async function perform(call: Call): Promise<unknown> {
  if (call.name === 'connect') {
    client = await Client.connect(call.arguments[0], emit, {
      before: (assignment) => ask('askBefore', assignment).answer,
      exampleCount: () => ask('exampleCount', null).answer,
      loop: askLoop,
    });
    client.setConditions(conditions.pause, conditions.cpuShare);
    return undefined;
  }
  if (client === null) {
    throw new FolkmootError('forgotten', 'this client is no longer connected; connect a new one');
  }
  const method = client[call.name] as (...given: unknown[]) => Promise<unknown>;
  const value = await method.apply(client, call.arguments);
  if (call.name === 'forget') {
    client = null;
  }
  return value;
}
