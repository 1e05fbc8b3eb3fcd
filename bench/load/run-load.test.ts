import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { LoadJob } from './load-job.ts';
import { runLoad } from './run-load.ts';

const REQUEST = [Buffer.from('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n')];

async function jobFor(context: TestContext, answer: (response: ServerResponse) => void): Promise<LoadJob> {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { kind: 'job', port, key: '', connections: 8, rate: 50, durationMs: 200, paceMs: null };
}

test('an open loop sends what is due, and times and counts every answer', async (context) => {
  let turn = 0;
  const job = await jobFor(context, (response) => {
    turn += 1;
    response.writeHead(turn % 2 === 0 ? 200 : 503).end('hello');
  });
  const { requests, failed, firstFailure, jitterMs } = await runLoad(job, REQUEST);
  assert.deepEqual([requests, failed], [5, 5]);
  assert.match(firstFailure ?? '', /503/);
  assert.deepEqual(jitterMs, { p50: 0, p95: 0, p99: 0 });
});

test('a stream is timed to its first bytes, and its gaps against the pace', async (context) => {
  const job = await jobFor(context, (response) => {
    void (async () => {
      for (let chunk = 0; chunk < 3; chunk += 1) {
        response.write('data: {}\n\n');
        await sleep(20);
      }
      response.end();
    })();
  });
  const { firstByteMs, gapMs, jitterMs, latencyMs } = await runLoad({ ...job, paceMs: 10_000 }, REQUEST);
  assert.ok(gapMs.p50 > 0 && latencyMs.p50 >= 40 && firstByteMs.p50 < latencyMs.p50);
  assert.ok(jitterMs.p50 > 9000 && jitterMs.p50 < 10_000, 'by how much it misses a pace that is far slower');
});
