import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isIpAddress, isLinkLocal, isLoopback } from './address.ts';

test('loopback: this machine alone', () => {
  for (const host of ['127.0.0.1', '127.255.255.254', '::1', 'localhost']) assert.ok(isLoopback(host), host);
  for (const host of ['128.0.0.1', '0.0.0.0', '::', '::2', 'localhost.evil.test', ''])
    assert.ok(!isLoopback(host), host);
});

test('link-local networks and metadata services, also inside IPv6', () => {
  for (const host of [
    '169.254.0.1',
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::169.254.169.254',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    '100.100.100.200',
    '192.0.0.192',
    'metadata.google.internal',
    'Metadata.Google.Internal.',
  ]) {
    assert.ok(isLinkLocal(host), host);
  }
  for (const host of [
    '169.253.255.255',
    '169.255.0.0',
    '10.0.0.1',
    'fec0::1',
    '64:ff9b::10.0.0.1',
    'example.org',
    '',
  ]) {
    assert.ok(!isLinkLocal(host), host);
  }
});

test('addresses in numbers', () => {
  assert.deepEqual(['10.0.0.1', '::1', 'example.org', '1'].map(isIpAddress), [true, true, false, false]);
});
