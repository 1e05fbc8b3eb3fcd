import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownOrigin } from './own-origin.ts';

test('an address that stands for all of a machine is asked at home, IPv6 in brackets', () => {
  assert.equal(ownOrigin({ address: '0.0.0.0', port: 1, tls: false }), 'http://127.0.0.1:1');
  assert.equal(ownOrigin({ address: '::', port: 1, tls: true }), 'https://127.0.0.1:1');
  assert.equal(ownOrigin({ address: '10.0.0.1', port: 1, tls: false }), 'http://10.0.0.1:1');
  assert.equal(ownOrigin({ address: '::1', port: 1, tls: false }), 'http://[::1]:1');
});
