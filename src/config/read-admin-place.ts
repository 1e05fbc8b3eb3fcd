import path from 'node:path';
import type { Problem } from './problem.ts';
import { readMain } from './read-main.ts';
import { createFileReader, createSubstitute } from './references.ts';
import { adminSection } from './schema/admin.ts';
import { type Plain, readYaml } from './yaml-source.ts';

/** Where the admin API of a configuration listens. */
export interface AdminPlace {
  readonly address: string;
  readonly port: number;
  /** Null where it speaks plain HTTP. */
  readonly tls: object | null;
}

export type AdminPlaceResult =
  | { readonly ok: true; /** Null where the file has no section. */ readonly place: AdminPlace | null }
  | {
      readonly ok: false;
      readonly problems: readonly Problem[];
      /** As in `LoadResult`. */
      readonly files: ReadonlyMap<string, string | null>;
    };

const placeSchema = adminSection.pick({ address: true, port: true });

/**
 * Reads no more of the configuration at `file` than where its admin API is: references elsewhere stay as they are, for who asks
 * the API need not have what the server has. Never throws for what the file says.
 */
export function readAdminPlace(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): AdminPlaceResult {
  const read = readMain(file);
  const files = new Map([[file, 'text' in read ? read.text : null]]);
  if ('problem' in read) return { ok: false, problems: [read.problem], files };
  const source = readYaml(file, read.text, (text) => ({ text, problem: null }));
  if (source.problems.length > 0) return { ok: false, problems: source.problems, files };
  const admin = mapOf(source.data)?.['admin'];
  if (admin === undefined) return { ok: true, place: null };
  const section = mapOf(admin);
  if (section === null) return { ok: false, problems: [source.at(['admin'], 'must be a map')], files };
  const substitute = createSubstitute({ env, files: createFileReader(path.dirname(file)) });
  const problems: Problem[] = [];
  const resolved = (key: 'address' | 'port'): Plain | undefined => {
    const value = section[key];
    if (typeof value !== 'string') return value;
    const { text, problem } = substitute(value);
    if (problem !== null) problems.push(source.at(['admin', key], problem));
    return key === 'port' && text !== value && /^\d{1,5}$/.test(text) ? Number(text) : text;
  };
  const parsed = placeSchema.safeParse({ address: resolved('address'), port: resolved('port') });
  if (problems.length > 0) return { ok: false, problems, files };
  if (parsed.success) return { ok: true, place: { ...parsed.data, tls: mapOf(section['tls']) } };
  return {
    ok: false,
    problems: parsed.error.issues.map((issue) => {
      const isPort = issue.path[0] === 'port';
      return source.at(['admin', isPort ? 'port' : 'address'], isPort ? 'must be a port' : 'must be a text');
    }),
    files,
  };
}

function mapOf(value: Plain | undefined): { readonly [key: string]: Plain } | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}
