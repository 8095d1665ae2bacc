/**
 * Checks assignments against the page's endorsement keys, as `folkmoot-work` does for the other platforms. The module
 * has no room for the verification, and every browser that has Ed25519 keys can do it.
 */

import { AnswerError, type Assignment, type Rollout } from './effects.js';
import type { Storage } from './storage.js';
import { FolkmootError } from './types.js';

const KEYS_MAX = 8;
/** The maximum number of tasks to remember. The task whose endorsement was noted longest ago is forgotten first. */
const TASKS_MAX = 256;
const STATEMENT_BYTES_MAX = 8192;
const LEVELS = ['none', 'central', 'distributed', 'local'];
const STATEMENT_FIELDS = 'coordinators expires_at format model not_before plans sequence task_id';
const PLAN_FIELDS = 'cohort_min digest protection_level';

interface Endorsement {
  statement: string;
  public_key: string;
  signature: string;
}

interface Statement {
  format: number;
  task_id: string;
  sequence: number;
  coordinators: string[];
  not_before: number;
  expires_at: number;
  model: string;
  plans: { digest: string; cohort_min: number; protection_level: string }[];
}

export class Endorsements {
  private constructor(
    private readonly storage: Storage,
    private readonly coordinator: string,
    private readonly keys: Map<string, CryptoKey>,
  ) {}

  static async open(storage: Storage, coordinator: string, keys: string[] = []): Promise<Endorsements> {
    if (keys.length > KEYS_MAX) {
      throw new FolkmootError('bad_option', `endorsementKeys has more than ${KEYS_MAX} keys; remove some`);
    }
    const read = await Promise.all(keys.map(async (key) => [key, await publicKey(key)] as const));
    return new Endorsements(storage, new URL(coordinator).origin, new Map(read));
  }

  /** Keeps the endorsement of an assignment that has just arrived. The session does not know it. */
  async keep({ assignment_id, endorsement }: Pick<Assignment, 'assignment_id' | 'endorsement'>): Promise<void> {
    if (this.keys.size > 0) {
      await this.storage.put('state', { assignment_id, endorsement }, 'endorsement');
    }
  }

  /** Throws an answer that names the reason if an assignment is not endorsed. */
  async check(assignment: Assignment): Promise<void> {
    if (this.keys.size === 0) {
      return;
    }
    const kept = await this.storage.get<Pick<Assignment, 'assignment_id' | 'endorsement'>>('state', 'endorsement');
    const text = kept?.assignment_id === assignment.assignment_id ? kept.endorsement : undefined;
    const differs = (statement: Statement) => otherModel(statement, assignment) ?? otherPromises(statement, assignment);
    const detail = await this.refusal(text, differs);
    if (detail !== null) {
      throw new AnswerError({ work_failed: { reason: 'plan_unsupported', detail } });
    }
  }

  /** Returns why a model that is rolled out to this device is refused, or null. */
  refusalOf(rollout: Rollout): Promise<string | null> {
    return this.refusal(rollout.endorsement, (statement) => otherModel(statement, rollout));
  }

  /** Returns why an endorsement does not suffice, or null. `differs` returns how the statement differs from what it endorses. */
  private async refusal(text: string | undefined, differs: (statement: Statement) => string | null): Promise<string | null> {
    if (this.keys.size === 0) {
      return null;
    }
    if (text === undefined) {
      return 'the task has no endorsement, and this app requires one; publish one with `folkmoot endorsement`';
    }
    const endorsement = parsed<Endorsement>(text);
    const key = this.keys.get(endorsement?.public_key ?? '');
    if (endorsement === null || key === undefined) {
      return 'the endorsement is signed by a key that this app does not accept';
    }
    const { statement: signed, signature } = endorsement;
    if (signed.length > STATEMENT_BYTES_MAX || !(await isSigned(key, signature, `folkmoot-endorsement\n${signed}`))) {
      return 'the endorsement is not valid: the signature does not match the key and the signed text';
    }
    const statement = parsed<Statement>(signed);
    // An unknown field may be a condition that this build does not know.
    const isKnown =
      statement?.format === 1 &&
      fieldsOf(statement) === STATEMENT_FIELDS &&
      statement.plans.every((plan) => fieldsOf(plan) === PLAN_FIELDS);
    if (!isKnown) {
      return 'the endorsement is not valid: its statement has a format that this build does not know';
    }
    return differs(statement) ?? this.otherTime(statement) ?? (await this.older(statement));
  }

  private otherTime(statement: Statement): string | null {
    if (!statement.coordinators.includes(this.coordinator)) {
      return `the endorsement is not signed for the coordinator ${this.coordinator}`;
    }
    if (Date.now() < statement.not_before) {
      return "the endorsement is not valid yet, or the device's clock is slow";
    }
    return Date.now() < statement.expires_at
      ? null
      : "the endorsement has expired, or the device's clock is fast; publish a new one with `folkmoot endorsement`";
  }

  /** Refuses an endorsement that is older than one of the same task that this client has seen, and notes a newer one. */
  private async older({ task_id, sequence }: Statement): Promise<string | null> {
    const seen = (await this.storage.get<[task: string, sequence: number][]>('state', 'endorsements')) ?? [];
    const newest = seen.find(([task]) => task === task_id)?.[1] ?? 0;
    if (sequence < newest) {
      return `the endorsement has the number ${sequence}, but this client has seen number ${newest}`;
    }
    if (sequence > newest) {
      const others = seen.filter(([task]) => task !== task_id);
      await this.storage.put('state', [...others, [task_id, sequence]].slice(-TASKS_MAX), 'endorsements');
    }
    return null;
  }
}

function fieldsOf(value: object): string {
  return Object.keys(value).sort().join(' ');
}

/** Returns how a task, its model or its plan differs from the statement, or null. */
function otherModel(statement: Statement, { task_id, model, plan }: Pick<Assignment, 'task_id' | 'model' | 'plan'>): string | null {
  if (statement.task_id !== task_id) {
    return 'the endorsement is signed for another task';
  }
  if (statement.model !== model.digest) {
    return 'the model is not the signed one';
  }
  return statement.plans.some(({ digest }) => digest === plan.digest) ? null : 'the plan is not a signed one';
}

/** Returns which promise of an assignment is weaker than that of its plan in the statement, or null. */
function otherPromises(statement: Statement, assignment: Assignment): string | null {
  const plan = statement.plans.find(({ digest }) => digest === assignment.plan.digest);
  if (plan === undefined) {
    return 'the plan is not a signed one';
  }
  const { cohort_min: cohort = 0, protection_level: level = 'none' } = assignment;
  if (cohort < plan.cohort_min) {
    return `the smallest cohort is ${cohort}, but ${plan.cohort_min} is signed`;
  }
  const wanted = LEVELS.indexOf(plan.protection_level);
  return wanted >= 0 && LEVELS.indexOf(level) >= wanted ? null : `the protection is ${level}, but ${plan.protection_level} is signed`;
}

async function publicKey(text: string): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('raw', bytes(text), 'Ed25519', false, ['verify']);
  } catch {
    const message = `endorsementKeys: \`${text}\` is not a public key; use what \`folkmoot endorsement key\` prints`;
    throw new FolkmootError('bad_option', message);
  }
}

async function isSigned(key: CryptoKey, signature: string, text: string): Promise<boolean> {
  try {
    return await crypto.subtle.verify('Ed25519', key, bytes(signature), new TextEncoder().encode(text));
  } catch {
    return false;
  }
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** Returns the object that a text is as JSON, or null. */
function parsed<T extends object>(text: string): T | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}
