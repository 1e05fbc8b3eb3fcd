import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servingLine } from './up.ts';

const line = (address: string, startedRedis: boolean, silentRedis: string | null = null): string =>
  servingLine({
    url: 'http://127.0.0.1:10000/v1',
    startedRedis,
    silentRedis,
    loaded: { snapshot: { listen: { address } } },
  });

test('the line of a start tells whether other machines can send requests too', () => {
  assert.equal(line('127.0.0.1', false), 'TokenLat serves http://127.0.0.1:10000/v1');
  assert.equal(line('127.0.0.1', true), 'TokenLat serves http://127.0.0.1:10000/v1 (with a Redis of its own)');
  assert.match(line('0.0.0.0', true), /of its own; listen\.address 0\.0\.0\.0: open to other machines too\)$/);
  assert.match(line('127.0.0.1', false, 'redis://h:1'), /v1 \(Redis does not answer at redis:\/\/h:1\)$/);
  assert.match(line('::', false), /v1 \(listen\.address ::: open/);
});
