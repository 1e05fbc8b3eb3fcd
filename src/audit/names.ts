import { readdir } from 'node:fs/promises';

/** A chain's name, taken apart. */
export interface ChainName {
  readonly node: string;
  readonly worker: number;
  /** Sorts by time. */
  readonly start: string;
}

const CHAIN = /^([A-Za-z0-9-]{1,40})-(\d{1,5})-(\d{8}T\d{9}Z)$/;
const SEGMENT = /^(.+)\.(\d{6,9})\.log$/;

/** A chain is what one process wrote: `<node>-<worker>-<start>`, all of it fit for a file name. `time`: Unix ms. */
export function chainName(node: string, worker: number, time: number): string {
  return `${nodeName(node)}-${worker}-${new Date(time).toISOString().replaceAll(/[-:.]/g, '')}`;
}

/** A host's name as it stands in chain names. */
export function nodeName(node: string): string {
  return node.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(0, 40) || 'node';
}

/** Null for what is no chain's name. */
export function parseChain(chain: string): ChainName | null {
  const [, node, worker, start] = CHAIN.exec(chain) ?? [];
  return node === undefined || start === undefined ? null : { node, worker: Number(worker), start };
}

/** File of the `n`th segment, from 1. */
export function segmentFile(chain: string, n: number): string {
  return `${chain}.${String(n).padStart(6, '0')}.log`;
}

/** File with a finished segment's summary. */
export function indexFile(chain: string, n: number): string {
  return segmentFile(chain, n).replace(/log$/, 'index.json');
}

/** File that names the process that writes a chain, while it does. */
export function liveFile(chain: string): string {
  return `${chain}.live`;
}

/** Numbers of the segments of every chain in `dir`, both in order. Empty when there is no such folder. */
export async function listChains(dir: string): Promise<Map<string, number[]>> {
  const chains = new Map<string, number[]>();
  for (const file of (await readdir(dir).catch(ifMissing)).toSorted()) {
    const [, chain, n] = SEGMENT.exec(file) ?? [];
    if (chain === undefined || parseChain(chain) === null) continue;
    const segments = chains.get(chain);
    if (segments === undefined) chains.set(chain, [Number(n)]);
    else segments.push(Number(n));
  }
  for (const segments of chains.values()) segments.sort((a, b) => a - b);
  return new Map([...chains].toSorted(([a], [b]) => compareChains(a, b)));
}

/** Files that end as segments do and belong to no chain: names that someone changed. */
export async function strangeFiles(dir: string): Promise<string[]> {
  const files = await readdir(dir).catch(ifMissing);
  return files.filter((file) => file.endsWith('.log') && parseChain(SEGMENT.exec(file)?.[1] ?? '') === null);
}

/** By start, then by name. */
export function compareChains(a: string, b: string): number {
  const key = (chain: string): string => `${parseChain(chain)?.start ?? ''} ${chain}`;
  return key(a) < key(b) ? -1 : 1;
}

function ifMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
