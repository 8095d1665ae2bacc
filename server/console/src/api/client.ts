/** Calls of the admin API. Every failure becomes an `ApiError` with a sentence for people. */

import { signedOut, token } from '../session';
import type { Problem } from './types';

const BASE = '/v1/admin';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Returns whether the coordinator rejected the session cookie or the request's token. */
export function isRefusal(error: Error): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call('GET', path, undefined, signal)).json() as Promise<T>;
}

export async function send<T>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const answer = await call(method, path, body === undefined ? undefined : JSON.stringify(body));
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** Uploads a file unchanged. */
export async function upload<T>(path: string, file: Blob): Promise<T> {
  return (await call('POST', path, file)).json() as Promise<T>;
}

async function call(method: string, path: string, body?: string | Blob, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  if (method !== 'GET') headers['x-folkmoot-csrf'] = token();
  const request: RequestInit = { method, headers, credentials: 'same-origin' };
  if (body !== undefined) request.body = body;
  if (signal) request.signal = signal;
  let answer: Response;
  try {
    answer = await fetch(BASE + path, request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The coordinator does not respond. Check that it is running.');
  }
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => null)) as Problem | null;
  if (answer.status === 401 && path !== '/session')
    signedOut('Your session has ended. Sign in again. Your unsaved input is kept as long as this page stays open.');
  const detail = problem?.detail ?? `The coordinator returned status ${answer.status}.`;
  // An operator finds the cause of a fault in the log by this id.
  const id = answer.status >= 500 ? answer.headers.get('x-request-id') : null;
  throw new ApiError(answer.status, problem?.code ?? 'unknown', id ? `${detail} (request ${id})` : detail);
}
