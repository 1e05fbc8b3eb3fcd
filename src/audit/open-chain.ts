import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditChainOptions } from './audit-chain-options.ts';
import type { ChainState } from './chain-state.ts';
import type { NewEntry } from './entry-queue.ts';
import { writeFacts } from './facts.ts';
import { chainName, listChains, liveFile } from './names.ts';
import { processIdentity } from './process-identity.ts';
import { NO_HASH } from './record.ts';
import { recover } from './recover.ts';
import type { Recovered } from './recover.ts';
import { toError } from '../lib/error/to-error.ts';

/** A chain without a record. */
export interface OpenedChain {
  readonly state: ChainState;
  /** To be its first record. */
  readonly entry: NewEntry;
  /** Mends what was before; to be called when the first record is on disk. Never throws. */
  readonly finish: () => Promise<void>;
}

/** Looks at what was before and begins a chain that follows on it. Rejects while the folder cannot be written to. */
export async function openChain(options: AuditChainOptions): Promise<OpenedChain> {
  const { dir, node, worker, clock, log, metrics } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  let problem: string | null = null;
  const { after, recovered, finish } = await recover(options).catch((error: unknown): Recovered => {
    problem = error instanceof Error ? error.message : String(error);
    log.error('earlier audit chains could not be read', { problem });
    return { after: null, recovered: [], finish: async () => {} };
  });
  const taken = await listChains(dir);
  let time = clock.time();
  while (taken.has(chainName(node, worker, time))) time += 1;
  const chain = chainName(node, worker, time);
  await writeFile(join(dir, liveFile(chain)), `${processIdentity(process.pid) ?? ''}\n`, { mode: 0o600 });
  if (recovered.length > 0) metrics.anomaly('audit_recovered');
  const facts = writeFacts({
    event: recovered.length > 0 || problem !== null ? 'recovery' : 'start',
    after: after === null ? null : { ...after },
    recovered,
    problem,
    pid: process.pid,
  });
  return {
    state: { chain, seq: 0, head: after?.hash ?? NO_HASH },
    entry: { kind: 'system', time, facts },
    finish: () =>
      finish().catch((error: unknown) => {
        const reason = toError(error);
        log.error('an earlier audit chain could not be mended', { error: reason });
      }),
  };
}
