import { resolve } from 'node:path';
import { type AdminPlace, readAdminPlace } from '../config/read-admin-place.ts';
import { ConfigError } from './config-error.ts';

/** Where the admin API of the configuration at `path` listens; null where it has none. Throws `ConfigError`. */
export function loadAdminPlace(path: string): AdminPlace | null {
  const result = readAdminPlace(resolve(path));
  if (!result.ok) throw new ConfigError(result.problems, result.files);
  return result.place;
}
