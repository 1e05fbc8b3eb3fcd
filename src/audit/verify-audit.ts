import type { KeyObject } from 'node:crypto';
import type { CheckpointStore } from '../core/ports/audit.ts';
import type { Checkpoint } from './checkpoint.ts';
import { Findings } from './findings.ts';
import type { Finding } from './findings.ts';
import { listChains, strangeFiles } from './names.ts';
import { swornChains, swornOf } from './sworn-checkpoints.ts';
import { walkChain } from './verify-chain.ts';
import type { Link, WalkedChain } from './verify-chain.ts';

/** One chain, as far as it can be vouched for. Times are Unix milliseconds. */
export interface ChainReport {
  readonly chain: string;
  readonly segments: number;
  readonly records: number;
  readonly first: number;
  readonly last: number;
  readonly from: number | null;
  readonly to: number | null;
  /** Up to this record, a checkpoint or the chain that follows proves that nothing is missing or changed; 0 for none. */
  readonly proven: number;
  /** Records after that. They hang together, but who can write to the folder could have replaced or cut them unseen. */
  readonly unproven: number;
  /** Time of the newest checkpoint. */
  readonly checkpoint: number | null;
}

export interface AuditReport {
  /** No fault. What is not covered by a checkpoint is in `chains`, not here. */
  readonly ok: boolean;
  readonly records: number;
  readonly faults: number;
  readonly notes: number;
  readonly chains: readonly ChainReport[];
  /** The first 1000. */
  readonly findings: readonly Finding[];
}

export interface VerifyOptions {
  /** Folder with the segments. */
  readonly dir: string;
  readonly checkpoints: readonly CheckpointStore[];
  /** Of all keys that signed what is held. */
  readonly publicKeys: readonly KeyObject[];
  /** Unix milliseconds. */
  readonly now?: number;
}

/** A chain that is younger may not have its first checkpoint yet. */
const YOUNG_MS = 60_000;

/**
 * Reads the whole log and says what is wrong with it, and how far it is proven. The log may be in use. Rejects when files or
 * stores cannot be read.
 */
export async function verifyAudit({
  dir,
  checkpoints: stores,
  publicKeys,
  now = Date.now(),
}: VerifyOptions): Promise<AuditReport> {
  const findings = new Findings();
  // Before the files: what is sworn to now must be in them, however they grow meanwhile.
  const named = await swornChains(stores);
  const sworn = new Map<string, readonly Checkpoint[]>();
  const held = await listChains(dir);
  for (const chain of new Set([...named, ...held.keys()]))
    sworn.set(chain, await swornOf(chain, stores, publicKeys, findings));
  for (const file of await strangeFiles(dir))
    findings.fault('stray_file', `${JSON.stringify(file)} is no segment of any chain`);

  const walked = new Map<string, WalkedChain>();
  for (const [chain, segments] of await listChains(dir)) {
    const checkpoints = sworn.get(chain) ?? [];
    const found = await walkChain({ dir, chain, segments, checkpoints, findings, now });
    walked.set(chain, found);
    // Read anew: retention may have taken segments since.
    judgeStart(found, (await swornOf(chain, stores, publicKeys, null)).at(-1), findings);
    judgeEnd(found, checkpoints, findings, now);
  }
  for (const [chain, checkpoints] of sworn) {
    if (!walked.has(chain)) judgeAbsent(chain, checkpoints, findings);
  }
  const proven = judgeLinks(walked, sworn, findings);
  const chains = [...walked.values()].map((found) => reportOf(found, proven.get(found.chain) ?? 0));
  return {
    ok: findings.faults === 0,
    records: chains.reduce((sum, { records }) => sum + records, 0),
    faults: findings.faults,
    notes: findings.notes,
    chains,
    findings: findings.list,
  };
}

function judgeStart({ chain, first }: WalkedChain, newest: Checkpoint | undefined, findings: Findings): void {
  if (first === null) return;
  const from = newest?.from ?? 1;
  if (first.seq > from)
    findings.fault(
      'missing',
      `records ${from} to ${first.seq - 1} are missing: the chain begins with record ${first.seq}`,
      { chain, seq: from },
    );
  else if (first.seq < from)
    findings.note('left_over', `records before ${from} are past their time and are still there`, {
      chain,
      seq: first.seq,
    });
  else if (newest !== undefined && first.prev !== newest.base)
    findings.fault('wrong_start', 'the first record follows on something else than its checkpoint says', {
      chain,
      seq: from,
    });
}

function judgeEnd(
  { chain, first, last }: WalkedChain,
  checkpoints: readonly Checkpoint[],
  findings: Findings,
  now: number,
): void {
  const newest = checkpoints.at(-1);
  const end = last?.seq ?? 0;
  if (newest === undefined) {
    if (first !== null && now - first.time > YOUNG_MS)
      findings.fault('no_checkpoint', 'no checkpoint vouches for any of this chain', { chain });
  } else if (newest.seq > end && newest.from <= newest.seq) {
    findings.fault(
      'cut_tail',
      `records ${end + 1} to ${newest.seq} are missing from the end: the checkpoint of ${iso(newest.time)} swears to them`,
      { chain, seq: end + 1 },
    );
  }
}

function judgeAbsent(chain: string, checkpoints: readonly Checkpoint[], findings: Findings): void {
  const newest = checkpoints.at(-1);
  if (newest === undefined || newest.from > newest.seq) return;
  findings.fault(
    'missing_chain',
    `the whole chain is missing: the checkpoint of ${iso(newest.time)} swears to ${newest.count} records`,
    { chain },
  );
}

/** What each chain says of the one before it; gives how far each is proven. */
function judgeLinks(
  walked: ReadonlyMap<string, WalkedChain>,
  sworn: ReadonlyMap<string, readonly Checkpoint[]>,
  findings: Findings,
): ReadonlyMap<string, number> {
  const proven = new Map<string, number>();
  for (const found of walked.values()) proven.set(found.chain, found.sworn);
  for (const { chain, after, sworn: covered } of walked.values()) {
    if (after === null) continue;
    const before = walked.get(after.chain);
    if (before === undefined) {
      // Named by a checkpoint: judged already.
      if ((sworn.get(after.chain) ?? []).length === 0)
        findings.fault('missing_chain', `the chain is missing that ${chain} follows on`, { chain: after.chain });
      continue;
    }
    if (judgeLink(chain, after, before, findings) && covered > 0)
      proven.set(after.chain, Math.max(after.seq, before.sworn));
  }
  return proven;
}

function judgeLink(chain: string, after: Link, { last }: WalkedChain, findings: Findings): boolean {
  const end = last?.seq ?? 0;
  const place = { chain: after.chain, seq: Math.min(end, after.seq) + 1 };
  if (end < after.seq)
    findings.fault(
      'cut_tail',
      `records ${end + 1} to ${after.seq} are missing from the end: chain ${chain} follows on them`,
      place,
    );
  else if (end > after.seq)
    findings.fault(
      'unlinked',
      `records ${after.seq + 1} to ${end} were added after chain ${chain} had followed on record ${after.seq}`,
      place,
    );
  else if (last?.hash !== after.hash)
    findings.fault('rewritten', `the last record is not the one that chain ${chain} follows on`, place);
  else return true;
  return false;
}

function reportOf({ chain, segments, records, first, last, swornAt }: WalkedChain, proven: number): ChainReport {
  const end = last?.seq ?? 0;
  return {
    chain,
    segments,
    records,
    first: first?.seq ?? 0,
    last: end,
    from: first?.time ?? null,
    to: last?.time ?? null,
    proven,
    unproven: Math.max(0, end - Math.max(proven, (first?.seq ?? 1) - 1)),
    checkpoint: swornAt,
  };
}

function iso(time: number): string {
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : String(time);
}
