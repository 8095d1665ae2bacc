/** The worker's end of the message channel to the page. */

import type { Call, ClientEvent, ToPage, ToWorker } from './messages.js';
import { failureOf, Trainer } from './trainer.js';
import { type AssignmentOffer, FolkmootError } from './types.js';

const questions = new Map<number, (agreed: boolean) => void>();
let questionsAsked = 0;
let trainer: Trainer | null = null;
let conditions: { pause: string | null; cpuShare: number } = { pause: null, cpuShare: 1 };

function post(message: ToPage): void {
  self.postMessage(message);
}

function emit(event: ClientEvent): void {
  post({ kind: 'event', event });
}

function ask(assignment: AssignmentOffer): Promise<boolean> {
  const id = (questionsAsked += 1);
  post({ kind: 'ask', id, assignment });
  return new Promise((resolve) => questions.set(id, resolve));
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case 'call':
      void answer(data.id, data.call);
      break;
    case 'conditions':
      conditions = data;
      trainer?.setConditions(data.pause, data.cpuShare);
      break;
    case 'asked':
      questions.get(data.id)?.(data.agreed);
      questions.delete(data.id);
      break;
    case 'lose_device':
      trainer?.loseDevice();
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
    trainer = await Trainer.connect(call.arguments[0], emit, ask);
    trainer.setConditions(conditions.pause, conditions.cpuShare);
    return undefined;
  }
  if (trainer === null) {
    throw new FolkmootError('forgotten', 'this client is no longer connected; connect a new one');
  }
  const method = trainer[call.name] as (...given: unknown[]) => Promise<unknown>;
  const value = await method.apply(trainer, call.arguments);
  if (call.name === 'forget') {
    trainer = null;
  }
  return value;
}
