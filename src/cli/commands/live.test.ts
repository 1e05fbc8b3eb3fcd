import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIVE } from '../../admin/admin-kit.test.ts';
import { ApiError } from '../api-error.ts';
import { cliKit } from '../cli-kit.test.ts';
import { liveCommand } from './live.ts';

const [first] = LIVE.rows;
assert.ok(first !== undefined);
let live = {
  ...LIVE,
  rows: [first, { ...first, deployment: 'm@c', backend: 'c', requests: 30, errors: 0, firstTokenP50: 7.5 }],
};
const kit = await cliKit({ live: async () => live });

test('replicas, and each deployment with its figures and its part of the traffic', async () => {
  const { out, error } = await kit.run(liveCommand, []);
  assert.equal(error, null);
  const [head, , title] = out.split('\n');
  assert.equal(head, 'replica host-1: 2 workers, 3 requests under way, up 1s');
  assert.match(title ?? '', /^route +model +deployment +backend +running +req\/min +err\/min +tok\/min +p50 ms/);
  assert.match(out, /^r +m +m@b +b +2 +10 +1 +1234 +12\.5 +40 +\[#{5}\.{15}\] +25 %$/m);
  assert.match(out, /^r +m +m@c +c +2 +30 +0 +1234 +12\.5 +40 +7\.5 +\[#{15}\.{5}\] +75 %$/m);
});

test('who waits for which model, where somebody does', async () => {
  const { out } = await kit.run(liveCommand, []);
  assert.match(out, /^waiting for +interactive +batch +oldest ms +waited\/min +p95 ms +refused\/min$/m);
  assert.match(out, /^m +3 +1 +250 +40 +180 +7$/m);
  assert.match(out, /^jobs: 4 waiting \(the oldest for 90s\), 2 running, 1 failed$/m);
});

test('programs get what the API told, without bars', async () => {
  const { json } = await kit.run(liveCommand, ['--json']);
  assert.equal(json()['object'], 'live');
  const { out } = await kit.run(liveCommand, ['--csv']);
  const [head, row] = out.split('\r\n');
  assert.equal(
    head,
    'route,model,deployment,backend,running,requests_per_minute,errors_per_minute,tokens_per_minute,latency_ms_p50,latency_ms_p95,first_token_ms_p50,cold_share,warm_ms_p95',
  );
  assert.equal(row, 'r,m,m@b,b,2,10,1,1234,12.5,40,,,');
});

test('it is watched, and of nothing it says so', async () => {
  const stop = new AbortController();
  let drawn = '';
  const out = (text: string): void => {
    drawn += text;
    live = { ...LIVE, replicas: [], rows: [] };
    if (drawn.includes('no replica')) stop.abort();
  };
  const { error } = await kit.run(liveCommand, ['--watch'], { out, screen: true, stopped: stop.signal });
  assert.equal(error, null);
  assert.equal(drawn.split('\u001b[H\u001b[J').length, 3);
});

test('callers of one tenant may not see it', async () => {
  const { error } = await kit.run(liveCommand, [], { as: 'admin@acme' });
  assert.ok(error instanceof ApiError);
  assert.equal(error.exitCode, 5);
});
