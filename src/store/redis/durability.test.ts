import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDurability } from './durability.ts';

class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** A server with these settings; null: it may not be asked. */
function server(config: Readonly<Record<string, string>> | null, info: string) {
  return {
    info: async () => info,
    call: async (_command: string, ...args: unknown[]) => {
      if (config === null) throw new ReplyError("NOPERM this user has no permissions to run the 'config' command");
      const name = String(args[1]);
      return config[name] === undefined ? [] : [name, config[name]];
    },
  } as unknown as Parameters<typeof readDurability>[0];
}
const info = (aof: string, policy = 'noeviction', version = '7.2.4'): string =>
  `# Server\r\nredis_version:${version}\r\n# Memory\r\nmaxmemory_policy:${policy}\r\naof_enabled:${aof}\r\n`;

test('an append-only file is named by its fsync rule', async () => {
  for (const appendfsync of ['always', 'everysec'] as const) {
    const config = { appendonly: 'yes', appendfsync, 'maxmemory-policy': 'noeviction' };
    assert.deepEqual(await readDurability(server(config, info('1'))), {
      durability: `aof-${appendfsync}`,
      version: '7.2.4',
      warnings: [],
    });
  }
});

test('what may lose charges is warned of', async () => {
  const report = await readDurability(
    server({ appendonly: 'no', appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lru' }, info('0', 'x', '6.0.9')),
  );
  assert.equal(report.durability, 'none');
  assert.deepEqual(
    report.warnings.map((warning) => /append-only|allkeys-lru|older than 6\.2/.exec(warning)?.[0]),
    ['append-only', 'allkeys-lru', 'older than 6.2'],
  );
  const lazy = await readDurability(server({ appendonly: 'yes', appendfsync: 'no' }, info('1')));
  assert.deepEqual([lazy.durability, lazy.warnings.length], ['aof-no', 1]);
});

test('where CONFIG is forbidden, INFO tells what it can', async () => {
  const on = await readDurability(server(null, info('1', 'volatile-ttl')));
  assert.deepEqual([on.durability, on.warnings.length], ['aof-unknown', 1]);
  assert.equal((await readDurability(server(null, info('0')))).durability, 'none');
  const nothing = await readDurability(server(null, ''));
  assert.deepEqual([nothing.durability, nothing.version], ['unknown', '']);
});

test('a lost connection is not mistaken for a refusal', async () => {
  const client = {
    info: async () => info('1'),
    call: async () => {
      throw new Error('Connection is closed.');
    },
  } as unknown as Parameters<typeof readDurability>[0];
  await assert.rejects(readDurability(client), /closed/);
});
