import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { freePorts } from './free-ports.ts';

test('the preferred port comes first while it is free, another one when it is taken', async () => {
  const [free = 0] = await freePorts(1);
  const ports = await freePorts(3, free);
  assert.equal(ports[0], free);
  assert.equal(new Set(ports).size, 3);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const others = await freePorts(3, port);
  assert.equal(new Set(others).size, 3);
  assert.ok(!others.includes(port));
  await new Promise((resolve) => taken.close(resolve));
});
