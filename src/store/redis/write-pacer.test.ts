import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { createWritePacer } from './write-pacer.ts';

/** A server that says OK to everything and keeps each piece of bytes as it came. */
async function withServer(run: (client: Redis, pieces: string[]) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-pacer-'));
  const pieces: string[] = [];
  const server: Server = createServer((socket) => {
    socket.on('data', (bytes) => {
      const text = bytes.toString();
      pieces.push(text);
      socket.write('+OK\r\n'.repeat(text.split('*').length - 1));
    });
  });
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve));
  const client = new Redis(join(dir, 's'), { enableReadyCheck: false });
  try {
    await client.ping();
    pieces.length = 0;
    await run(client, pieces);
  } finally {
    client.disconnect();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

const commands = (piece: string | undefined): readonly string[] => piece?.match(/first|second|third/g) ?? [];

test('commands of one turn go out in one write', () =>
  withServer(async (client, pieces) => {
    createWritePacer(client);
    await Promise.all([client.set('first', '1'), client.set('second', '1')]);
    assert.deepEqual(pieces.map(commands), [['first', 'second']]);
  }));

test('a patient command goes with the next one, before it; alone it goes soon', () =>
  withServer(async (client, pieces) => {
    const { patient } = createWritePacer(client);
    const told = patient(() => client.set('first', '1'));
    await Promise.all([client.set('second', '1'), told]);
    assert.deepEqual(pieces.map(commands), [['first', 'second']]);
    assert.equal(await patient(() => client.set('third', '1')), 'OK');
    assert.deepEqual(commands(pieces[1]), ['third']);
  }));
