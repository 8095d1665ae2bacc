/** Signed requests to a coordinator. The session decides when to retry. */

import type { Engine } from './engine.js';
import type { ClientKey } from './key.js';
import type { Traffic } from './limits.js';
import { FolkmootError } from './types.js';

/** The maximum number of bytes in a control message. */
const CONTROL_BYTES_MAX = 64 * 1024;
/** The time limit for the answer to a control message, and for the next piece of a blob. */
const CONTROL_MILLISECONDS_MAX = 30_000;
/** The lowest upload speed. A slower upload is interrupted and resumed later. */
const UPLOAD_BYTES_PER_SECOND_MIN = 8 * 1024;

/** The meaning of a failure for the session, written by the engine. */
export type Failure = {
  disposition: 'retry' | 'check_in' | 'give_up';
  retry_after_milliseconds: number | null;
  /** Bytes of a blob that were received before the failure and are kept. */
  transferred_bytes: number;
};

interface Refusal {
  failure: Failure;
  code: string | null;
  detail: string | null;
  server_time: number | null;
}

/** A request that failed. */
export class RequestError extends Error {
  constructor(
    readonly refusal: Refusal,
    message: string,
  ) {
    super(message);
  }
}

/** A request before signing. */
export interface Unsigned {
  method: 'GET' | 'POST' | 'PUT';
  /** The path with its query. Starts with a slash. */
  path: string;
  json?: unknown;
  /** The whole update, which is sent from `offset` on. */
  update?: { bytes: Uint8Array; offset: number; digest: string };
  /** The first byte to fetch. */
  rangeStart?: number;
  millisecondsMax?: number;
  /** The maximum number of bytes of the answer, if not {@link CONTROL_BYTES_MAX}. */
  answerBytesMax?: number;
  /** Enrolments are sent without a client id. */
  anonymous?: boolean;
  /** Counts the request's bytes. */
  traffic?: Traffic;
}

/** A connection to one coordinator. */
export class Transport {
  clientId: string | null = null;
  private clockOffset = 0;
  private readonly base: string;
  /** The coordinator's name, which signatures cover. */
  private readonly audience: string;

  constructor(
    coordinator: string,
    private readonly engine: Engine,
    private readonly key: ClientKey,
  ) {
    this.base = parseCoordinator(coordinator);
    this.audience = new URL(this.base).hostname;
  }

  get coordinator(): string {
    return this.base;
  }

  async enrol(token: string, signal: AbortSignal, traffic: Traffic): Promise<{ client_id: string; population: string }> {
    const json = { token, public_key: this.key.publicKey };
    const path = '/v1/enrol';
    const answer = await this.json<{ client_id: string; population: string; server_time: number } | null>(
      { method: 'POST', path, json, anonymous: true, traffic },
      signal,
    );
    const { client_id, population, server_time } = answer ?? {};
    if (typeof client_id !== 'string' || typeof population !== 'string' || typeof server_time !== 'number') {
      throw this.broken('the answer to the enrolment is incomplete; check for a proxy or captive portal');
    }
    this.clockOffset = server_time - Date.now();
    this.clientId = client_id;
    return { client_id, population };
  }

  /** Sends a request and returns its parsed JSON answer. */
  async json<T>(unsigned: Unsigned, signal: AbortSignal): Promise<T> {
    const response = await this.send(unsigned, signal);
    const text = await this.text(response, unsigned, signal);
    try {
      return (text === '' ? null : JSON.parse(text)) as T;
    } catch {
      throw this.broken(`the answer (HTTP status ${response.status}) is not JSON; check for a proxy or captive portal`);
    }
  }

  /** Fetches a blob from `rangeStart` on, and passes the pieces to `take`. */
  async blob(
    artifact: { digest: string; bytes: number },
    rangeStart: number,
    signal: AbortSignal,
    traffic: Traffic,
    take: (piece: Uint8Array) => void,
  ): Promise<number> {
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    let alarm = setTimeout(() => silence.abort(), CONTROL_MILLISECONDS_MAX);
    const path = `/v1/blobs/${artifact.digest}`;
    try {
      const response = await this.send({ method: 'GET', path, rangeStart, millisecondsMax: Infinity, traffic }, either);
      if (response.status !== (rangeStart > 0 ? 206 : 200)) {
        throw this.broken('the response ignores the requested range');
      }
      let fetched = 0;
      for await (const piece of pieces(response)) {
        clearTimeout(alarm);
        alarm = setTimeout(() => silence.abort(), CONTROL_MILLISECONDS_MAX);
        fetched += piece.byteLength;
        traffic.countReceived(piece.byteLength);
        if (rangeStart + fetched > artifact.bytes) {
          throw this.broken('the blob is longer than the assignment says');
        }
        take(piece);
      }
      if (rangeStart + fetched < artifact.bytes) {
        throw this.broken('the blob is shorter than the assignment says');
      }
      return fetched;
    } catch (error) {
      throw this.requestError(error, signal);
    } finally {
      clearTimeout(alarm);
    }
  }

  /** Sends the request. If this device's clock was wrong, sends it once more with the coordinator's time. */
  private async send(unsigned: Unsigned, signal: AbortSignal): Promise<Response> {
    try {
      return await this.sendOnce(unsigned, signal);
    } catch (error) {
      const refusal = error instanceof RequestError ? error.refusal : null;
      if (refusal?.code !== 'clock_skew' || refusal.server_time === null) {
        throw error;
      }
      this.clockOffset = refusal.server_time - Date.now();
      return await this.sendOnce(unsigned, signal);
    }
  }

  private async sendOnce(unsigned: Unsigned, signal: AbortSignal): Promise<Response> {
    const { body, headers } = await this.signed(unsigned);
    const rest = body?.byteLength ?? 0;
    const patience = unsigned.update === undefined ? CONTROL_MILLISECONDS_MAX : 60_000 + (rest / UPLOAD_BYTES_PER_SECOND_MIN) * 1000;
    const limit = unsigned.millisecondsMax ?? patience;
    const signals = Number.isFinite(limit) ? [signal, AbortSignal.timeout(limit)] : [signal];
    let response: Response;
    unsigned.traffic?.countSent(rest);
    try {
      response = await fetch(this.base + unsigned.path, {
        method: unsigned.method,
        headers,
        body: body as BodyInit | null,
        // A redirect would carry a signature to an address that it was not made for.
        redirect: 'error',
        credentials: 'omit',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      throw this.requestError(error, signal);
    }
    if (response.ok) {
      return response;
    }
    // Only a problem document is a refusal. Any other page comes from a proxy or a captive portal.
    if (!(response.headers.get('content-type') ?? '').startsWith('application/problem+json')) {
      throw this.broken(`HTTP status ${response.status}, no problem document; check for a proxy or captive portal`);
    }
    const refusal = JSON.parse(
      this.engine.failureOf(await this.text(response, { ...unsigned, answerBytesMax: CONTROL_BYTES_MAX }, signal)),
    ) as Refusal;
    throw new RequestError(refusal, `${refusal.code ?? 'unknown'}: ${refusal.detail ?? ''}`);
  }

  private async signed(unsigned: Unsigned): Promise<{ body: Uint8Array | null; headers: Record<string, string> }> {
    const { update, method, path } = unsigned;
    let body: Uint8Array | null = null;
    const headers: Record<string, string> = {};
    let upload: number[] = [];
    if (update !== undefined) {
      body = update.bytes.subarray(update.offset);
      upload = [update.offset, update.bytes.byteLength];
      headers['content-type'] = 'application/octet-stream';
      headers['folkmoot-upload-offset'] = String(update.offset);
      headers['folkmoot-upload-length'] = String(update.bytes.byteLength);
    } else if (unsigned.json !== undefined) {
      body = new TextEncoder().encode(JSON.stringify(unsigned.json));
      headers['content-type'] = 'application/json';
    } else if ((unsigned.rangeStart ?? 0) > 0) {
      headers['range'] = `bytes=${unsigned.rangeStart}-`;
    }
    const content = update?.digest ?? this.engine.contentDigest(body ?? new Uint8Array());
    const client = unsigned.anonymous === true ? undefined : (this.clientId ?? undefined);
    const nonce = hexadecimal(crypto.getRandomValues(new Uint8Array(16)));
    const timestamp = Date.now() + this.clockOffset;
    const text = this.engine.signedText(method, path, client, timestamp, nonce, content, Float64Array.from(upload), this.audience);
    headers['folkmoot-protocol'] = String(this.engine.protocolVersion());
    headers['folkmoot-audience'] = this.audience;
    headers['folkmoot-timestamp'] = String(timestamp);
    headers['folkmoot-nonce'] = nonce;
    headers['folkmoot-content-digest'] = content;
    headers['folkmoot-signature'] = await this.key.sign(text);
    if (client !== undefined) {
      headers['folkmoot-client'] = client;
    }
    return { body, headers };
  }

  /** Reads a message as text. Throws an error if it is too long. */
  private async text(response: Response, unsigned: Unsigned, signal: AbortSignal): Promise<string> {
    const { traffic, answerBytesMax = CONTROL_BYTES_MAX } = unsigned;
    const parts: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const piece of pieces(response)) {
        length += piece.byteLength;
        traffic?.countReceived(piece.byteLength);
        if (length > answerBytesMax) {
          throw this.broken(`the answer has over ${answerBytesMax} bytes; check for a proxy or captive portal`);
        }
        parts.push(piece);
      }
    } catch (error) {
      // The connection may break after the headers.
      throw this.requestError(error, signal);
    }
    return new Blob(parts as BlobPart[]).text();
  }

  /** Returns an error that the session treats as a network failure. */
  broken(message: string): RequestError {
    return new RequestError(JSON.parse(this.engine.failureOf(undefined)) as Refusal, message);
  }

  /** Converts any error that is not a refusal to a network failure. Cancellations stay unchanged. */
  private requestError(error: unknown, signal: AbortSignal): unknown {
    if (error instanceof RequestError || signal.aborted) {
      return error;
    }
    return this.broken(`the coordinator cannot be reached: ${String(error)}`);
  }
}

async function* pieces(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    return;
  }
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      yield next.value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseCoordinator(text: string): string {
  const local = ['localhost', '127.0.0.1', '[::1]'];
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.pathname === '/' && url.search === '' && url.username === '';
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && local.includes(url.hostname));
  if (!isPlain || !isSafe) {
    const expected = 'use https://host[:port] (http:// for this machine only)';
    throw new FolkmootError('bad_option', `\`${text}\` is not a coordinator's address; ${expected}`);
  }
  return url.origin;
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
