import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEntry, AuditLog, CheckpointStore } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { createAuditChain } from './audit-chain.ts';
import type { AuditChainOptions } from './audit-chain-options.ts';
import { createCheckpointer } from './checkpointer.ts';
import { createFolderCheckpointStore } from './folder-checkpoint-store.ts';
import { verifyAudit } from './verify-audit.ts';
import type { AuditReport } from './verify-audit.ts';

export const { privateKey: KEY, publicKey: PUBLIC_KEY } = generateKeyPairSync('ed25519');

/** A folder for a log, one for its checkpoints, and what a test does with them. */
export interface Rig {
  readonly dir: string;
  readonly stores: readonly CheckpointStore[];
  readonly anomalies: string[];
  readonly open: (options?: Partial<AuditChainOptions>) => AuditLog;
  readonly verify: (now?: number) => Promise<AuditReport>;
  /** Names of the segments, in order. */
  readonly segments: () => string[];
  readonly lines: (file: string) => string[];
  readonly write: (file: string, lines: readonly string[]) => void;
  readonly clean: () => void;
}

export function rig({
  key = KEY,
  stores,
}: { readonly key?: KeyObject; readonly stores?: readonly CheckpointStore[] } = {}): Rig {
  const root = mkdtempSync(join(tmpdir(), 'tokenlat-audit-'));
  const dir = join(root, 'log');
  const used = stores ?? [createFolderCheckpointStore({ dir: join(root, 'checkpoints') })];
  const anomalies: string[] = [];
  const nothing = (): void => {};
  const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const metrics = { anomaly: (kind: string) => void anomalies.push(kind) };
  const clock = systemClock;
  const checkpointer = createCheckpointer({ stores: used, key, publicKey: createPublicKey(key), clock, log, metrics });
  return {
    dir,
    stores: used,
    anomalies,
    open: (options = {}) =>
      createAuditChain({
        dir,
        node: 'test',
        worker: 0,
        workers: 1,
        segmentBytes: 1024 * 1024,
        rotateMs: 86_400_000,
        keepMs: 86_400_000,
        checkpoint: { everyMs: 60_000, records: 10_000 },
        checkpointer,
        clock,
        log,
        metrics,
        ...options,
      }),
    verify: (now = Date.now() + 3_600_000) => verifyAudit({ dir, checkpoints: used, publicKeys: [PUBLIC_KEY], now }),
    segments: () =>
      readdirSync(dir)
        .filter((file) => file.endsWith('.log'))
        .toSorted(),
    lines: (file) => readFileSync(join(dir, file), 'utf8').split('\n').slice(0, -1),
    write: (file, lines) => writeFileSync(join(dir, file), lines.map((line) => `${line}\n`).join('')),
    clean: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A decision on the `n`th request. */
export function entry(n: number, facts: AuditEntry['facts'] = {}): AuditEntry {
  return {
    kind: 'request',
    time: 1_700_000_000_000 + n,
    facts: { request_id: `r${n}`, tenant: `t${n % 3}`, model: `m${n % 2}`, status: 200, ...facts },
  };
}

/** Faults and notes as `kind@seq`. */
export function kinds({ findings }: AuditReport, faults = true): string[] {
  return findings
    .filter(({ fault }) => fault === faults)
    .map(({ kind, seq }) => (seq === null ? kind : `${kind}@${seq}`));
}
