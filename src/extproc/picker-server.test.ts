import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client, credentials, type ChannelCredentials } from '@grpc/grpc-js';
import { selfSigned } from '../../test/render/self-signed.ts';
import type { PickExchangeFactory } from '../core/pick.ts';
import { silentLog } from '../telemetry/silent.ts';
import { createPickerServer, type PickerServerOptions } from './picker-server.ts';

const factory: PickExchangeFactory = () => assert.fail('nobody asks');
const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
});

async function started(changes: Partial<PickerServerOptions> = {}) {
  const server = createPickerServer({
    address: '127.0.0.1',
    port: 0,
    tls: null,
    grpc: 'lean',
    allowPlaintext: false,
    factory,
    isReady: () => true,
    bodyBytes: 1000,
    log: silentLog,
    metrics: { anomaly: () => {} },
    ...changes,
  });
  await server.start();
  ends.push(() => server.stop(0, 100));
  return server;
}

/** `1` serving, `2` not serving, else why there is no answer. */
function health(
  address: string,
  service: string,
  by: ChannelCredentials = credentials.createInsecure(),
): Promise<string> {
  const client = new Client(address, by);
  const name = Buffer.from(service);
  return new Promise<string>((resolve) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (value: Buffer) => value,
      (bytes) => String(bytes[1]),
      Buffer.concat([Buffer.from([0x0a, name.length]), name]),
      { deadline: Date.now() + 5000 },
      (error, value) => resolve(error === null ? (value ?? '') : error.details),
    );
  }).finally(() => client.close());
}

const EXT_PROC = 'envoy.service.ext_proc.v3.ExternalProcessor';

test('it is alive whatever it can pick, and ready only when it can', async () => {
  let isReady = true;
  const server = await started({ isReady: () => isReady });
  const all = (): Promise<readonly string[]> =>
    Promise.all(['', 'liveness', 'readiness', EXT_PROC].map((service) => health(server.address(), service)));
  assert.deepEqual(await all(), ['1', '1', '1', '1']);
  isReady = false;
  assert.deepEqual(await all(), ['1', '1', '2', '2']);
  assert.match(await health(server.address(), 'other'), /unknown service/);
});

test('one that leaves is not ready, and its port is free afterwards', async () => {
  const server = await started();
  const port = Number(server.address().split(':')[1]);
  const stopping = server.stop(300, 100);
  assert.equal(await health(server.address(), 'readiness'), '2');
  await stopping;
  await started({ port });
});

test('plain text is for this machine alone, unless it is asked for', async () => {
  await assert.rejects(() => started({ address: '0.0.0.0' }), /plain text/);
  await started({ address: '0.0.0.0', allowPlaintext: true });
});

test('with a certificate it speaks TLS, and with an authority only to its clients', async () => {
  const { cert, key } = selfSigned('localhost');
  const own = await started({ tls: { cert, key, ca: null } });
  const address = `localhost:${own.address().split(':')[1]}`;
  assert.equal(await health(address, '', credentials.createSsl(Buffer.from(cert))), '1');
  assert.notEqual(await health(address, ''), '1');
  const mutual = await started({ tls: { cert, key, ca: cert } });
  const there = `localhost:${mutual.address().split(':')[1]}`;
  const known = credentials.createSsl(Buffer.from(cert), Buffer.from(key), Buffer.from(cert));
  assert.equal(await health(there, '', known), '1');
  assert.notEqual(await health(there, '', credentials.createSsl(Buffer.from(cert))), '1');
});
