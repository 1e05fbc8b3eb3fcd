import type { Durability, DurabilityReport } from '../stores.ts';
import type { RedisClient } from './connection.ts';

/** `ZADD LT` and open ranges of `XRANGE`. */
const FLOOR = [6, 2] as const;

/**
 * Reads how Redis keeps acknowledged writes. `CONFIG` may be forbidden (`NOPERM`) or renamed: then `INFO` tells what it can.
 * See <https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/>. Rejects as the client does.
 */
export async function readDurability(client: Pick<RedisClient, 'info' | 'call'>): Promise<DurabilityReport> {
  const [info, config] = await Promise.all([client.info().then(parseInfo), readConfig(client)]);
  const version = info.get('redis_version') ?? '';
  const appendonly = config.get('appendonly') ?? flag(info.get('aof_enabled'));
  const policy = config.get('maxmemory-policy') ?? info.get('maxmemory_policy');
  const durability = durabilityOf(appendonly, config.get('appendfsync'));
  return { durability, version, warnings: warningsOf(durability, policy, version) };
}

function durabilityOf(appendonly: string | undefined, appendfsync: string | undefined): Durability {
  if (appendonly === undefined) return 'unknown';
  if (appendonly !== 'yes') return 'none';
  if (appendfsync === 'always' || appendfsync === 'everysec' || appendfsync === 'no') return `aof-${appendfsync}`;
  return 'aof-unknown';
}

function warningsOf(durability: Durability, policy: string | undefined, version: string): string[] {
  const warnings: string[] = [];
  if (durability === 'none') {
    warnings.push('Redis keeps no append-only file: a restart loses acknowledged charges (set appendonly yes)');
  } else if (durability === 'unknown') {
    warnings.push('Redis does not say how it keeps writes: a restart may lose acknowledged charges');
  } else if (durability === 'aof-no') {
    warnings.push(
      'Redis leaves fsync to the system: a power cut loses acknowledged charges (set appendfsync everysec)',
    );
  }
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(`Redis may evict counters and the ledger when memory is short (maxmemory-policy ${policy})`);
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
    warnings.push(`Redis ${version} is older than ${FLOOR.join('.')}`);
  }
  return warnings;
}

async function readConfig(client: Pick<RedisClient, 'call'>): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  // One name a call: several at once need Redis 7.
  for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy']) {
    try {
      const reply = (await client.call('CONFIG', 'GET', name)) as readonly string[];
      if (reply[1] !== undefined) known.set(name, reply[1]);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'ReplyError')) throw error;
    }
  }
  return known;
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

function flag(value: string | undefined): string | undefined {
  return value === undefined ? undefined : value === '1' ? 'yes' : 'no';
}
