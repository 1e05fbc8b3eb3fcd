import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProfile, type Frame } from './read-profile.ts';

/**
 * Of the `.cpuprofile` files of a folder, one a process, that of the process which was busy longest, without its first part `from`
 * (0 to 1). Throws an `Error` when there is none.
 */
export function busiestProfile(folder: string, from: number): Frame {
  const [busiest] = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => readProfile(readFileSync(join(folder, name), 'utf8'), from))
    .toSorted((one, other) => other.micros - one.micros);
  if (busiest === undefined) throw new Error(`${folder} has no .cpuprofile`);
  return busiest;
}
