import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import { StoreRefused } from '../store-refused.ts';
import { createStoreBreaker } from './store-breaker.ts';

class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

function setUp({ works = true } = {}) {
  const seen = { probes: 0, reconnects: 0, states: [] as string[], lines: [] as string[], works };
  const line = (message: string) => void seen.lines.push(message);
  const breaker = createStoreBreaker({
    probe: async () => {
      seen.probes += 1;
      if (seen.works) return 'OK';
      return new Promise(() => {});
    },
    reconnect: () => {
      seen.reconnects += 1;
    },
    deadlineMs: 30,
    probeEveryMs: 20,
    log: { info: line, warn: line, error: line },
    metrics: { storeState: (state) => void seen.states.push(state) },
  });
  return { breaker, seen };
}

async function until(done: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !done(); i += 1) await sleep(5);
  assert.ok(done(), 'in time');
}
const failing = async (): Promise<never> => {
  throw new Error('Connection is closed.');
};

const refuse = (message: string) => () => Promise.reject(new ReplyError(message));

describe('store breaker', () => {
  test('is down until the store has answered', async () => {
    const { breaker, seen } = setUp();
    await assert.rejects(
      breaker.call(async () => 1),
      StoreUnavailable,
    );
    const ready = breaker.ready(1000);
    assert.equal(await ready, true);
    assert.equal(await breaker.call(async () => 1), 1);
    assert.deepEqual([seen.states, seen.lines], [['down', 'up'], ['store is up']]);
    breaker.close();
  });

  test('opens after five failures in a row, then does no work, and closes by a probe', async () => {
    const { breaker, seen } = setUp();
    await breaker.ready(1000);
    for (let i = 0; i < 4; i += 1) await assert.rejects(breaker.call(failing), StoreUnavailable);
    await breaker.call(async () => 1);
    for (let i = 0; i < 5; i += 1) {
      assert.equal(breaker.state(), 'up');
      await assert.rejects(breaker.call(failing), { name: 'StoreUnavailable', message: 'Connection is closed.' });
    }
    assert.equal(breaker.state(), 'down');
    let worked = false;
    await assert.rejects(
      breaker.call(async () => {
        worked = true;
      }),
      StoreUnavailable,
    );
    assert.equal(worked, false);
    await until(() => breaker.state() === 'up');
    assert.deepEqual(seen.states, ['down', 'up', 'down', 'up']);
    assert.deepEqual(seen.lines, ['store is up', 'store is down', 'store is up']);
    breaker.close();
  });

  test('a call that gets no answer ends at the deadline', async () => {
    const { breaker } = setUp();
    await breaker.ready(1000);
    const start = performance.now();
    const call = breaker.call(() => new Promise(() => {}));
    await assert.rejects(call, { name: 'StoreUnavailable', message: 'no answer within 30 ms' });
    const took = performance.now() - start;
    assert.ok(took >= 29 && took < 2000, `${took} ms`);
    breaker.close();
  });

  test('a silent store is probed one at a time, and reconnected to after a while', async () => {
    const { breaker, seen } = setUp({ works: false });
    await until(() => seen.reconnects === 2);
    assert.ok(seen.probes >= 8 && seen.probes <= 9, `${seen.probes} probes`);
    seen.works = true;
    await until(() => breaker.state() === 'up');
    assert.deepEqual(seen.states, ['down', 'up']);
    breaker.trip('connection closed');
    breaker.trip('connection closed');
    assert.deepEqual(seen.states, ['down', 'up', 'down']);
    breaker.close();
  });

  test('a refused command is told from an outage and does not open it', async () => {
    const { breaker } = setUp();
    await breaker.ready(1000);
    for (let i = 0; i < 10; i += 1) {
      await assert.rejects(breaker.call(refuse('WRONGTYPE Operation against a key')), StoreRefused);
    }
    assert.equal(breaker.state(), 'up');
    const passing = [
      'LOADING Redis is loading the dataset in memory',
      "ERR Error running script (call to f_0): @user_script:3: @user_script: 3: -READONLY You can't write",
      "OOM command not allowed when used memory > 'maxmemory'. script: 0, on @user_script:3.",
      'CLUSTERDOWN Hash slot not served',
      'MISCONF Redis is configured to save RDB snapshots',
    ];
    for (const message of passing) {
      await assert.rejects(breaker.call(refuse(message)), (error) => !(error instanceof StoreRefused));
    }
    assert.equal(breaker.state(), 'down');
    breaker.close();
  });

  test('gives up waiting for readiness', async () => {
    const { breaker } = setUp({ works: false });
    assert.equal(await breaker.ready(50), false);
    const closed = breaker.ready(10_000);
    breaker.close();
    assert.equal(await closed, false);
    assert.equal(breaker.state(), 'down');
  });
});
