/** Signed requests to a coordinator. When to send again is the session's to decide. */

import type { Traffic } from './day_bytes.js';
import type { Engine } from './engine.js';
import type { ClientKey } from './key.js';
import { FolkmootError } from './types.js';

/** Bytes of a control message, at most. */
const CONTROL_BYTES_MAX = 64 * 1024;
/** In which a control message has to be answered, and in which something has to come of a blob. */
const CONTROL_MILLISECONDS_MAX = 30_000;
/** Slower than this, an upload is broken off and gone on with later. */
const UPLOAD_BYTES_PER_SECOND_MIN = 8 * 1024;

/** What a failure means to the session; the engine makes it. */
export type Failure = {
  disposition: 'retry' | 'check_in' | 'give_up';
  retry_after_milliseconds: number | null;
  /** Bytes of a blob that came before it failed, and stay. */
  transferred_bytes: number;
};

interface Refusal {
  failure: Failure;
  code: string | null;
  detail: string | null;
  server_time: number | null;
}

/** A request that brought no answer. */
export class RequestError extends Error {
  constructor(
    readonly refusal: Refusal,
    message: string,
  ) {
    super(message);
  }
}

/** A request before it is signed. */
export interface Unsigned {
  method: 'GET' | 'POST' | 'PUT';
  /** With its query, beginning with a slash. */
  path: string;
  json?: unknown;
  /** The whole update, of which the bytes from `offset` on are sent. */
  update?: { bytes: Uint8Array; offset: number; digest: string };
  /** The first byte that is wanted. */
  rangeStart?: number;
  millisecondsMax?: number;
  /** Enrolments are sent without an id. */
  anonymous?: boolean;
  /** Where its bytes are counted. */
  traffic?: Traffic;
}

/** A connection to one coordinator. */
export class Transport {
  clientId: string | null = null;
  private clockOffset = 0;
  private readonly base: string;

  constructor(
    coordinator: string,
    private readonly engine: Engine,
    private readonly key: ClientKey,
  ) {
    this.base = parseCoordinator(coordinator);
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
      throw this.broken('the answer is none to an enrolment; is there a proxy in between?');
    }
    this.clockOffset = server_time - Date.now();
    this.clientId = client_id;
    return { client_id, population };
  }

  /** Sends a request and reads its answer, a message. */
  async json<T>(unsigned: Unsigned, signal: AbortSignal): Promise<T> {
    const response = await this.send(unsigned, signal);
    const text = await this.text(response, unsigned.traffic, signal);
    try {
      return (text === '' ? null : JSON.parse(text)) as T;
    } catch {
      throw this.broken(`status ${response.status}: the answer is no JSON; is there a proxy in between?`);
    }
  }

  /** Fetches a blob from a byte on; `take` gets the pieces. */
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
        throw this.broken('the range was not heeded');
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

  /** Sends the request; once more, with the coordinator's time, if this clock was wrong. */
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
        // A redirect would carry a signature to a place for which it was not made.
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
    // Only a problem document is a refusal: what a proxy says is no word of the coordinator.
    if (!(response.headers.get('content-type') ?? '').startsWith('application/problem+json')) {
      throw this.broken(`status ${response.status}: not a problem document; is there a proxy in between?`);
    }
    const refusal = JSON.parse(this.engine.failureOf(await this.text(response, unsigned.traffic, signal))) as Refusal;
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
    const text = this.engine.signedText(method, path, client, timestamp, nonce, content, Float64Array.from(upload));
    headers['folkmoot-protocol'] = String(this.engine.protocolVersion());
    headers['folkmoot-timestamp'] = String(timestamp);
    headers['folkmoot-nonce'] = nonce;
    headers['folkmoot-content-digest'] = content;
    headers['folkmoot-signature'] = await this.key.sign(text);
    if (client !== undefined) {
      headers['folkmoot-client'] = client;
    }
    return { body, headers };
  }

  /** Reads a message, never more of it than a message may have. */
  private async text(response: Response, traffic: Traffic | undefined, signal: AbortSignal): Promise<string> {
    const parts: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const piece of pieces(response)) {
        length += piece.byteLength;
        traffic?.countReceived(piece.byteLength);
        if (length > CONTROL_BYTES_MAX) {
          throw this.broken('the message is over its limit');
        }
        parts.push(piece);
      }
    } catch (error) {
      // A connection may break after the headers.
      throw this.requestError(error, signal);
    }
    return new Blob(parts as BlobPart[]).text();
  }

  /** What is taken for a broken network. */
  broken(message: string): RequestError {
    return new RequestError(JSON.parse(this.engine.failureOf(undefined)) as Refusal, message);
  }

  /** Everything that is no refusal is taken for a broken network; what the caller ended stays what it is. */
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
    const expected = 'https://host[:port] is expected (http:// for this machine only)';
    throw new FolkmootError('bad_option', `\`${text}\` is no coordinator's address: ${expected}`);
  }
  return url.origin;
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
