import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { requireFreePort } from './require-free-port.ts';
import { StartupError } from './startup-error.ts';

test('a port that is taken is told with the key that names it', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await assert.rejects(requireFreePort('127.0.0.1', port, 'listen.port'), (error) => {
    assert.ok(error instanceof StartupError);
    assert.equal(error.message, `port ${port} on 127.0.0.1 is taken: choose another listen.port in the configuration`);
    return true;
  });
  await new Promise((resolve) => server.close(resolve));
  await requireFreePort('127.0.0.1', port, 'listen.port');
  await requireFreePort('127.0.0.1', port, 'listen.port');
});

test('an address that is not ours is told as such', async () => {
  await assert.rejects(requireFreePort('192.0.2.1', 0, 'listen.port'), /cannot be used \(EADDRNOTAVAIL\)/);
});
