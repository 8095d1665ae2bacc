/** An OpenID Connect provider on this machine: the certified `oidc-provider`, with its forms for development. */

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import { Provider } from 'oidc-provider';

export const CLIENT = 'folkmoot';
export const SECRET = 'a secret for tests only';

/** Binds a free port. `serve` must be called before anybody signs in. */
export async function startProvider() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new TestProvider(server);
}

class TestProvider {
  constructor(server) {
    this.server = server;
    this.issuer = `http://127.0.0.1:${server.address().port}`;
    /** The groups of each person. A person without an entry has none. */
    this.groups = {};
    this.tokenSeconds = 600;
    /** Whether the provider gives refresh tokens. It gives each of them once. */
    this.refreshes = false;
  }

  /** Starts the provider for a coordinator, with new keys and without the sessions that it had before. */
  serve(coordinator) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT,
          client_secret: SECRET,
          redirect_uris: [`${coordinator}/v1/admin/sign-in/example/callback`],
          post_logout_redirect_uris: [`${coordinator}/console/`],
          id_token_signed_response_alg: 'ES256',
          grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        },
      ],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
      claims: { openid: ['sub'], profile: ['name', 'groups'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a key for tests only'] },
      features: { rpInitiatedLogout: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
      issueRefreshToken: () => this.refreshes,
      rotateRefreshToken: true,
      // Without the scope offline_access, a refresh token would end with the person's session at the provider.
      expiresWithSession: () => false,
      pkce: { required: () => true },
      ttl: { IdToken: () => this.tokenSeconds },
      findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({ sub: id, name: `${id} the Tester`, groups: this.groups[id] ?? [] }),
      }),
    });
    this.server.removeAllListeners('request');
    this.server.on('request', provider.callback());
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
