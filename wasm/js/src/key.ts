/** The client's identity: an Ed25519 key that the page cannot read. Beside it, a key for the client's own storage. */

import type { Storage } from './storage.js';
import { FolkmootError } from './types.js';

/** The text from which the device key is derived. Another text would make stored journals useless. */
const DEVICE_KEY_LABEL = 'folkmoot browser storage key 1';

/** A Web Crypto key pair whose private key cannot be exported. */
export class ClientKey {
  private constructor(
    private readonly pair: CryptoKeyPair,
    /** The 32 bytes of the public key in base64, as sent when enrolling. */
    readonly publicKey: string,
    /** From this key, the secret is derived under which state of this client is stored. */
    private readonly derivation: CryptoKey,
  ) {}

  /** Loads the keys, or generates and stores them. */
  static async loadOrGenerate(storage: Storage): Promise<ClientKey> {
    let pair = await storage.get<CryptoKeyPair>('state', 'key');
    if (pair === undefined) {
      pair = await generate();
      await storage.put('state', pair, 'key');
    }
    const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
    // Earlier versions of this package had no such key.
    let derivation = await storage.get<CryptoKey>('state', 'derivation_key');
    if (derivation === undefined) {
      derivation = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
      await storage.put('state', derivation, 'derivation_key');
    }
    return new ClientKey(pair, base64(new Uint8Array(raw)), derivation);
  }

  /** Signs a text and returns the signature in base64. */
  async sign(text: string): Promise<string> {
    const signature = await crypto.subtle.sign('Ed25519', this.pair.privateKey, new TextEncoder().encode(text));
    return base64(new Uint8Array(signature));
  }

  /** Passes the 32 secret bytes of this device to `use`, and erases them afterwards. */
  async withDeviceKey<T>(use: (deviceKey: Uint8Array) => T): Promise<T> {
    const label = new TextEncoder().encode(DEVICE_KEY_LABEL);
    const deviceKey = new Uint8Array(await crypto.subtle.sign('HMAC', this.derivation, label));
    try {
      return use(deviceKey);
    } finally {
      deviceKey.fill(0);
    }
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
