import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import SOURCES from './sources.json' with { type: 'json' };

/** A repository with data, at one commit, and the SHA-256 of each file that is read. */
export interface Source {
  readonly name: string;
  readonly repository: string;
  readonly commit: string;
  readonly licence: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Where the data comes from. None of it is part of this repository. */
export const sources: readonly Source[] = SOURCES.map((source) => ({
  ...source,
  files: Object.fromEntries(Object.entries(source.files).filter(([, digest]) => digest !== undefined)),
}));

/** Public address of a file. */
export const urlOf = ({ repository, commit }: Source, file: string): string =>
  `https://raw.githubusercontent.com/${repository}/${commit}/${file}`;

const AT_ONCE = 4;

/**
 * Texts of all files of a source, by name: those under `dir/<name>/`, and what is missing there is fetched and kept. Throws when a file is
 * another one than was measured with.
 */
export async function readSource(
  source: Source,
  {
    dir,
    get = fetch,
    progress = () => {},
  }: {
    readonly dir: string;
    readonly get?: (url: string) => Promise<Pick<Response, 'ok' | 'status' | 'arrayBuffer'>>;
    readonly progress?: (file: string) => void;
  },
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const left = Object.entries(source.files);
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [file, digest] = next;
      const place = path.join(dir, source.name, file);
      if (!fs.existsSync(place)) {
        progress(file);
        await download(urlOf(source, file), place, digest, get);
      }
      const bytes = fs.readFileSync(place);
      if (digestOf(bytes) !== digest)
        throw new Error(`${place} is not the file that was measured with: SHA-256 differs`);
      texts.set(file, bytes.toString('utf8'));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return new Map([...texts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function download(
  url: string,
  place: string,
  digest: string,
  get: (url: string) => Promise<Pick<Response, 'ok' | 'status' | 'arrayBuffer'>>,
): Promise<void> {
  const response = await get(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (digestOf(bytes) !== digest) throw new Error(`${url} is not the file that was measured with: SHA-256 differs`);
  fs.mkdirSync(path.dirname(place), { recursive: true });
  fs.writeFileSync(place, bytes);
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
