import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createOpsServer, type HealthReport, type OpsServerOptions } from './ops-server.ts';

const options = (over: Partial<OpsServerOptions> = {}): OpsServerOptions & { address: string; port: number } => ({
  address: '127.0.0.1',
  port: 0,
  metrics: () => Promise.resolve('a_metric 1\n'),
  health: () => ({ ready: true, reasons: [] }),
  ...over,
});

test('alive, ready, metrics and traces', async (t) => {
  let report: HealthReport = { ready: true, reasons: [] };
  const server = await createOpsServer(
    options({ health: () => report, traceRoute: (id) => Promise.resolve(id === 'req-1' ? [{ id }] : []) }),
  );
  t.after(server.close);
  const get = async (path: string, init: RequestInit = {}): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get('/healthz'), [200, '{"status":"alive"}\n']);
  assert.deepEqual(await get('/readyz?x=1'), [200, '{"status":"ready","reasons":[]}\n']);
  report = { ready: false, reasons: ['store is down'] };
  assert.deepEqual(await get('/readyz'), [503, '{"status":"not_ready","reasons":["store is down"]}\n']);
  assert.deepEqual(await get('/metrics'), [200, 'a_metric 1\n']);
  assert.deepEqual(await get('/trace/req-1'), [200, '[{"id":"req-1"}]\n']);
  assert.equal((await get('/trace/req-2'))[0], 404);
  assert.equal((await get(`/trace/${'x'.repeat(200)}`))[0], 404);
  assert.equal((await get('/trace/a%2Fb'))[0], 404);
  assert.equal((await get('/other'))[0], 404);
  assert.equal((await get('/healthz', { method: 'POST' }))[0], 405);
});

test('faults and slowness behind it are a bounded 500 that tells nothing', async (t) => {
  const server = await createOpsServer(
    options({
      timeoutMs: 30,
      metrics: () => new Promise(() => {}),
      health: () => {
        throw new Error('secret inside');
      },
    }),
  );
  t.after(server.close);
  for (const path of ['/metrics', '/readyz']) {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    assert.equal(response.status, 500);
    assert.equal(await response.text(), '{"error":"not available"}\n');
  }
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/trace/x`)).status, 404);
});

test('listens on a socket too, and says when an address is taken', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ops-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { address: _address, port: _port, ...rest } = options();
  const server = await createOpsServer({ ...rest, socket: join(folder, 's') });
  const status = await new Promise((resolve, reject) => {
    request({ socketPath: join(folder, 's'), path: '/healthz' }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
  assert.equal(status, 200);
  await server.close();
  const first = await createOpsServer(options());
  t.after(first.close);
  await assert.rejects(createOpsServer({ ...options(), port: first.port }), /EADDRINUSE/);
});
