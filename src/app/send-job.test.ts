import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { KeptRequest } from '../services/jobs/job-content.ts';
import { NotSent } from '../services/jobs/run-job.ts';
import { sendJob } from './send-job.ts';

const KEPT = {
  path: '/v1/chat/completions',
  headers: [
    ['content-type', 'application/json'],
    ['x-team', 'a'],
    ['x-team', 'b'],
  ],
  body: 'e30=',
} as unknown as KeptRequest;
const { signal } = new AbortController();

test('what was not sent is told from what got no answer; headers go as they came', async (t) => {
  let seen: IncomingMessage['headers'] = {};
  let breaks = false;
  const server = createServer((request, response) => {
    seen = request.headers;
    if (breaks) request.socket.destroy();
    else response.end('{}');
  });
  t.after(() => server.close());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal((await sendJob(gateway, KEPT, 'tlj.x', signal)).status, 200);
  assert.deepEqual(
    [seen['x-team'], seen['content-type'], seen.authorization],
    ['a, b', 'application/json', 'Bearer tlj.x'],
  );
  breaks = true;
  await assert.rejects(sendJob(gateway, KEPT, 'tlj.x', signal), (error) => !(error instanceof NotSent));
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(sendJob(gateway, KEPT, 'tlj.x', signal), NotSent);
});
