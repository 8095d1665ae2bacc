/** The client's identity: an Ed25519 key that the page cannot read. */

import type { Storage } from './storage.js';
import { FolkmootError } from './types.js';

/** A Web Crypto key pair whose private key cannot be exported. */
export class ClientKey {
  private constructor(
    private readonly pair: CryptoKeyPair,
    /** The 32 bytes of the public key in base64, as sent when enrolling. */
    readonly publicKey: string,
  ) {}

  /** Loads the key, or generates one and stores it. */
  static async loadOrGenerate(storage: Storage): Promise<ClientKey> {
    let pair = await storage.get<CryptoKeyPair>('state', 'key');
    if (pair === undefined) {
      pair = await generate();
      await storage.put('state', pair, 'key');
    }
    const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
    return new ClientKey(pair, base64(new Uint8Array(raw)));
  }

  /** Signs a text and returns the signature in base64. */
  async sign(text: string): Promise<string> {
    const signature = await crypto.subtle.sign('Ed25519', this.pair.privateKey, new TextEncoder().encode(text));
    return base64(new Uint8Array(signature));
  }
}

async function generate(): Promise<CryptoKeyPair> {
  try {
    return (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as CryptoKeyPair;
  } catch (error) {
    const detail = `this browser has no Ed25519 keys: ${String(error)}; use a newer browser`;
    throw new FolkmootError('unsupported_browser', detail);
  }
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
