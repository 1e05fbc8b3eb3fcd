import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { waitUntil } from '../../app/wait-until.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { createAuthenticate } from './authenticate.ts';
import {
  bench,
  countingMetrics,
  goodClaims,
  hs256,
  issuer,
  jwk,
  jwt,
  NOW,
  outcome,
  rsaPair,
  snapshot,
  testClock,
  token,
} from './token-kit.test.ts';

const folder = mkdtempSync(join(tmpdir(), 'keys-'));
after(() => rmSync(folder, { recursive: true }));
const LONG = { exp: NOW + 100_000 };

function writeKeys(path: string, name: string, mtime: number): void {
  writeFileSync(path, JSON.stringify({ keys: [jwk(rsaPair(name).publicKey, { kid: 'a1' })] }));
  utimesSync(path, mtime, mtime);
}

test('a key file is read again when it changes, and a broken one changes nothing', async () => {
  const path = join(folder, 'jwks.json');
  writeKeys(path, 'A', 1000);
  const made = bench();
  const config = snapshot({ issuers: [issuer({ keys: { kind: 'jwks-file', path } })] });
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  writeFileSync(path, '{');
  made.clock.advance(5000);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  writeKeys(path, 'B', 3000);
  made.clock.advance(5000);
  // After a failure nobody waits for the next look: it is taken behind this request.
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  const isTaken = async (): Promise<boolean> => (await outcome(made, jwt(LONG), config)) === 'invalid_credentials';
  assert.ok(await waitUntil(isTaken, { timeoutMs: 5000 }));
  assert.equal(await outcome(made, jwt(LONG, {}, 'B'), config), '200');
  assert.equal(await outcome(made, jwt(LONG), config), 'invalid_credentials');
});

const signed = (secret: string) => token({ alg: 'HS256' }, goodClaims(LONG), hs256(secret));

test('a command prints the secret; a changed one is taken at the next refresh', async () => {
  const path = join(folder, 'secret.txt');
  const command = [process.execPath, '-e', `process.stdout.write(require('fs').readFileSync(${JSON.stringify(path)}))`];
  const keys = { kind: 'exec', command, refreshMs: 60_000, timeoutMs: 5000 } as const;
  const made = bench();
  const config = snapshot(
    { issuers: [issuer({ algorithms: ['HS256'], keys })] },
    { server: { messageTimeoutMs: 5000 } as never },
  );
  const first = '1'.repeat(40);
  const second = '2'.repeat(40);
  writeFileSync(path, `  ${first}\n`);
  assert.equal(await outcome(made, signed(first), config), '200');
  writeFileSync(path, second);
  made.clock.advance(60_000);
  assert.equal(await outcome(made, signed(first), config), 'invalid_credentials');
  assert.equal(await outcome(made, signed(second), config), '200');
});

test('a command that fails: closed, and the log holds nothing of what it printed', async () => {
  const lines: unknown[] = [];
  const keep = (message: string, fields?: unknown): void => {
    lines.push(message, fields, fields === undefined ? '' : String((fields as { error?: Error }).error?.message));
  };
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep };
  const clock = testClock();
  const station = createAuthenticate({ log, metrics: countingMetrics(), clock, fetch: bench().server.fetch });
  const script = 'console.log("canary-secret"); console.error("canary-secret"); process.exit(3)';
  const keys = { kind: 'exec', command: [process.execPath, '-e', script], refreshMs: 60_000, timeoutMs: 5000 } as const;
  const config = snapshot(
    { issuers: [issuer({ algorithms: ['HS256'], keys })] },
    { server: { messageTimeoutMs: 5000 } as never },
  );
  const code = await outcome({ station }, token({ alg: 'HS256' }, goodClaims(), hs256('x')), config);
  assert.equal(code, 'identity_provider_unavailable');
  assert.ok(lines.length > 0);
  assert.ok(!JSON.stringify(lines).includes('canary'));
});
