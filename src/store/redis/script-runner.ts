import { createHash } from 'node:crypto';
import fs from 'node:fs';
import type { RedisClient } from './connection.ts';
import { ScriptCommand, type ScriptEnd } from './script-command.ts';
import type { WritePacer } from './write-pacer.ts';

const PARTS = {
  admit: ['clock', 'record', 'windows', 'lines', 'admit'],
  settle: ['clock', 'record', 'windows', 'correct', 'rollup', 'settle'],
  expire: ['clock', 'record', 'windows', 'correct', 'rollup', 'expire'],
  peek: ['clock', 'record', 'windows', 'lines', 'peek'],
  renew: ['clock', 'renew'],
  touch: ['clock', 'touch'],
  claim: ['clock', 'claim'],
  rest: ['clock', 'rest'],
  'share-rates': ['clock', 'share-rates'],
  trace: ['trace'],
  rows: ['rows'],
  'epoch-look': ['clock', 'epoch-look'],
  'epoch-answer': ['clock', 'epoch-answer'],
  'directory-get': ['directory-get'],
  'directory-list': ['directory-list'],
  'directory-put': ['clock', 'directory', 'directory-put'],
  'directory-remove': ['clock', 'directory', 'directory-remove'],
} as const;

/** What the end of a request tells; its answer is on its way to the client already. */
const PATIENT: ReadonlySet<string> = new Set(['settle', 'trace']);

export type ScriptName = keyof typeof PARTS;
export type ScriptSources = Readonly<Record<ScriptName, string>>;

/**
 * Runs a script by name on the keys' node. `end`: what comes after those keys and arguments. Rejects as the client does; knows
 * no deadline.
 */
export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
  end?: ScriptEnd,
) => Promise<unknown>;

/** Reads the scripts that lie beside this file. */
export function readScripts(): ScriptSources {
  return Object.fromEntries(
    Object.entries(PARTS).map(([name, parts]) => [name, parts.map(readPart).join('\n')]),
  ) as ScriptSources;
}

function readPart(part: string): string {
  return fs.readFileSync(new URL(`./lua/${part}.lua`, import.meta.url), 'utf8');
}

/** By hash first; a server that does not know the script (restart, failover, SCRIPT FLUSH) gets its text once. */
export function createScriptRunner({
  client,
  sources,
  pacer,
}: {
  readonly client: Pick<RedisClient, 'sendCommand' | 'eval'>;
  readonly sources: ScriptSources;
  readonly pacer: WritePacer;
}): RunScript {
  const hashes = Object.fromEntries(
    Object.entries(sources).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
  ) as ScriptSources;
  return (name, keys, args, end) => {
    const send = (): Promise<unknown> =>
      client.sendCommand(new ScriptCommand(hashes[name], keys, args, end)) as Promise<unknown>;
    return (PATIENT.has(name) ? pacer.patient(send) : send()).catch((error: unknown) => {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      const allKeys = [...keys, ...(end?.keys ?? [])];
      return client.eval(sources[name], allKeys.length, ...allKeys, ...args, ...(end?.args ?? []));
    });
  };
}
