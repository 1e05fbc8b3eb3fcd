import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CaseJwt } from './report.ts';

interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Key ids that the reports use for their key pairs. */
const KEY_IDS: Readonly<Record<string, string>> = { A: 'a1', B: 'b2' };

const pairs = new Map<string, KeyPair>();

function pairOf(name: string): KeyPair {
  const known = pairs.get(name);
  if (known !== undefined) return known;
  const made = generateKeyPairSync('rsa', { modulusLength: 2048 });
  pairs.set(name, made);
  return made;
}

/** A JWK set with the public keys of these pairs. */
export function keySetOf(names: readonly string[]): string {
  const keys = names.map((name) => ({
    ...pairOf(name).publicKey.export({ format: 'jwk' }),
    kid: KEY_IDS[name] ?? name,
    alg: 'RS256',
    use: 'sig',
  }));
  return JSON.stringify({ keys });
}

/** Signs a token as it stands, right or wrong. `index` fills `${i}`. */
export function signCaseJwt({ header, claims, sign_with: pair }: CaseJwt, index: number): string {
  const filled = (value: unknown): unknown =>
    typeof value === 'string' ? timeOf(value.replaceAll('${i}', String(index))) : value;
  const part = (object: Readonly<Record<string, unknown>>): string =>
    Buffer.from(
      JSON.stringify(Object.fromEntries(Object.entries(object).map(([name, value]) => [name, filled(value)]))),
    ).toString('base64url');
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), pairOf(pair).privateKey).toString('base64url')}`;
}

/** `now+20` as seconds since 1970; a text in quotes stays one. */
function timeOf(value: string): unknown {
  const relative = /^now([+-]\d+)$/.exec(value);
  if (relative !== null) return Math.floor(Date.now() / 1000) + Number(relative[1]);
  return /^".*"$/.test(value) ? value.slice(1, -1) : value;
}

/** The issuer's key set over HTTP. */
export interface KeySetServer {
  readonly url: string;
  readonly fetches: () => number;
  /** Key pairs in the set from now on; null = the server fails. */
  readonly publish: (names: readonly string[] | null) => void;
  readonly close: () => void;
}

export async function startKeySetServer(names: readonly string[]): Promise<KeySetServer> {
  let published: readonly string[] | null = names;
  let fetches = 0;
  const server = createServer((_request, response) => {
    fetches += 1;
    response.writeHead(published === null ? 500 : 200, { 'content-type': 'application/json', connection: 'close' });
    response.end(published === null ? '{}' : keySetOf(published));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    fetches: () => fetches,
    publish: (next) => {
      published = next;
    },
    close: () => server.close(),
  };
}
