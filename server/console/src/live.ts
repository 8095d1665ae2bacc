/**
 * Live data. The coordinator names changed tasks in server-sent events. If events do not arrive, the page polls
 * all its data every few seconds.
 */

import { useEffect, useRef, useState } from 'preact/hooks';

export type Connection = 'live' | 'polling' | 'off';
/** A function that receives the ids of the changed tasks; `null` if anything may have changed. */
type Listener = (tasks: Set<string> | null) => void;

/** The interval at which figures about clients are refreshed, because arriving and waiting clients change no task. */
export const CLIENTS_MILLISECONDS = 10_000;
const POLL_MILLISECONDS = 3_000;
const RETRY_MILLISECONDS = 30_000;
/**
 * The delay before reconnecting after a working stream ended: streams have a maximum duration, and coordinators
 * restart.
 */
const RECONNECT_MILLISECONDS = 500;
/** The minimum time between two requests for the same data. */
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
  /** Requests the data again, for example after an action. */
  again: () => void;
}

/** The value of `task` for data that never changes, such as a blob named by its digest. */
export const NEVER = 'never';

/**
 * Loads data with `bring`, and reloads it whenever something changes. The old data stays until the new data has
 * arrived. `key` identifies the data. `task` lists the tasks whose changes matter, separated by commas: all
 * tasks if omitted, none if `NEVER`.
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

/** Reloads data periodically, for figures that no event announces, such as waiting clients and the log. */
export function useEvery(milliseconds: number, data: Pick<Data<unknown>, 'again'>): void {
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current.again(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}

const tickers = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const tick of tickers) tick();
}, 1000);

/** Returns the result of `read` for the current time. Calls `read` every second while the page is visible, unless `isStill`. */
export function useTicking<T>(read: (now: number) => T, isStill = false): T {
  const [, redraw] = useState<T>();
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (isStill) return;
    const tick = () => redraw(() => latest.current(Date.now()));
    tickers.add(tick);
    return () => void tickers.delete(tick);
  }, [isStill]);
  return read(Date.now());
}

/** Returns the time, and renders again every second while the page is visible, unless time stands still. */
export function useNow(isStill = false): number {
  return useTicking((now) => now, isStill);
}
