/**
 * What changes, while it changes. The coordinator says by server-sent events which tasks have changed; where that does not
 * come through, everything on the page is asked for again every few seconds.
 */

import { useEffect, useRef, useState } from 'preact/hooks';

export type Connection = 'live' | 'polling' | 'off';
/** The tasks that have changed; `null` if it may be anything. */
type Listener = (tasks: Set<string> | null) => void;

/** How often is asked who is there: clients that come and wait change no task. */
export const CLIENTS_MILLISECONDS = 10_000;
const POLL_MILLISECONDS = 3_000;
const RETRY_MILLISECONDS = 30_000;
/** The same after events had come through: an answer has an end, and a coordinator is restarted. */
const RECONNECT_MILLISECONDS = 500;
/** The least time between two askings for the same thing. */
const PAUSE_MILLISECONDS = 400;

const listeners = new Set<Listener>();
const watchers = new Set<(connection: Connection) => void>();
let connection: Connection = 'off';
let source: EventSource | null = null;
let poll: ReturnType<typeof setInterval> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

function become(next: Connection): void {
  connection = next;
  for (const watcher of watchers) watcher(next);
}

function tell(tasks: Set<string> | null): void {
  for (const listener of listeners) listener(tasks);
}

export function connect(): void {
  disconnect();
  open();
}

export function disconnect(): void {
  source?.close();
  source = null;
  clearInterval(poll);
  clearTimeout(retry);
  poll = undefined;
  become('off');
}

function open(): void {
  source = new EventSource('/v1/admin/events');
  source.addEventListener('hello', () => {
    clearInterval(poll);
    poll = undefined;
    become('live');
    tell(null);
  });
  source.addEventListener('tasks', (event) => {
    const { task_ids } = JSON.parse((event as MessageEvent<string>).data) as { task_ids: string[] };
    tell(new Set(task_ids));
  });
  source.onerror = () => {
    source?.close();
    source = null;
    const pause = connection === 'live' ? RECONNECT_MILLISECONDS : RETRY_MILLISECONDS;
    become('polling');
    poll ??= setInterval(() => document.hidden || tell(null), POLL_MILLISECONDS);
    clearTimeout(retry);
    retry = setTimeout(open, pause);
  };
}

export function useConnection(): Connection {
  const [now, set] = useState(connection);
  useEffect(() => {
    watchers.add(set);
    return () => void watchers.delete(set);
  }, []);
  return now;
}

export interface Data<T> {
  data: T | undefined;
  error: Error | undefined;
  /** Asks again, as after an action. */
  again: () => void;
}

/** For what never changes, such as what is named by its digest. */
export const NEVER = 'never';

/**
 * What a function brings, asked again whenever something has changed; the old answer stays until the new one is there.
 * `key` names what is asked for, `task` whose changes count (several with commas between): all if it is not
 * said, none if it is `NEVER`.
 */
export function useData<T>(key: string, bring: (signal: AbortSignal) => Promise<T>, task?: string): Data<T> {
  const [state, set] = useState<{ key: string; data?: T; error?: Error }>({ key });
  const latest = useRef(bring);
  latest.current = bring;
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    const abort = new AbortController();
    let isUnderWay = false;
    let isDue = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      if (isUnderWay || timer) {
        isDue = true;
        return;
      }
      isUnderWay = true;
      try {
        const data = await latest.current(abort.signal);
        if (!abort.signal.aborted) set({ key, data });
      } catch (error) {
        if (!abort.signal.aborted) set((old) => ({ ...(old.key === key ? old : {}), key, error: error as Error }));
      }
      isUnderWay = false;
      if (abort.signal.aborted) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (isDue) {
          isDue = false;
          void ask();
        }
      }, PAUSE_MILLISECONDS);
    };
    const listener: Listener = (tasks) => {
      if (!tasks || !task || task.split(',').some((one) => tasks.has(one))) void ask();
    };
    again.current = () => void ask();
    if (task !== NEVER) listeners.add(listener);
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
      listeners.delete(listener);
    };
  }, [key, task]);
  const isOwn = state.key === key;
  return {
    data: isOwn ? state.data : undefined,
    error: isOwn ? state.error : undefined,
    again: () => again.current(),
  };
}

/** Asks again from time to time, for what no event tells: who waits, what a process says. */
export function useEvery(milliseconds: number, data: Data<unknown>): void {
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current.again(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
