import assert from 'node:assert/strict';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { supportsResetLimits, withRaisedResetLimits } from './reset-limits.ts';

/** Opens and resets more streams than Node takes by default; true when the server said GOAWAY. */
async function flooded(server: http2.Http2Server): Promise<boolean> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.on('session', (one) => one.on('error', () => {}));
  server.on('stream', (stream) => stream.on('error', () => {}));
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  let refused = false;
  session.on('error', () => {});
  session.on('goaway', () => {
    refused = true;
  });
  for (let round = 0; round < 40 && !refused && !session.destroyed; round++) {
    const streams = Array.from({ length: 50 }, () => session.request());
    await Promise.all(
      streams.map(
        (stream) =>
          new Promise((resolve) => {
            stream.on('error', () => {});
            stream.on('close', resolve);
            setImmediate(() => stream.close(http2.constants.NGHTTP2_CANCEL));
          }),
      ),
    );
  }
  session.destroy();
  await new Promise((resolve) => server.close(resolve));
  return refused;
}

test('a server made inside takes a flood of resets, one made outside does not', async () => {
  const raised = await withRaisedResetLimits(() => Promise.resolve(http2.createServer()));
  assert.equal(await flooded(raised), !supportsResetLimits());
  assert.equal(await flooded(http2.createServer()), true);
});

test('the constructors are put back, also after an error', async () => {
  const { createServer, createSecureServer } = http2;
  await assert.rejects(
    withRaisedResetLimits(() => Promise.reject(new Error('taken'))),
    /taken/,
  );
  assert.equal(http2.createServer, createServer);
  assert.equal(http2.createSecureServer, createSecureServer);
});

test('which versions of Node have the option', () => {
  assert.deepEqual(
    ['20.20.2', '22.9.0', '22.10.0', '22.23.5', '24.21.0', '26.1.0'].map((version) => supportsResetLimits(version)),
    [false, false, true, true, true, true],
  );
});
