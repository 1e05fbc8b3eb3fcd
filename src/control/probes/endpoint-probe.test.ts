import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Endpoint } from '../../core/endpoint.ts';
import { createEndpointProbe } from './endpoint-probe.ts';
import { Judge, type Look } from './judge.ts';
import { backend, desk, PACED } from './probe-kit.test.ts';

const place = (host: string, weight = 1): Endpoint => ({ host, port: 80, weight });

function rig(endpoints: readonly Endpoint[], made = desk(), isPool = false) {
  const bad = new Set<string>();
  const silent = new Set<string>();
  const probe = createEndpointProbe(
    {
      key: 'k',
      backend: backend('b', null, { endpoints }),
      kind: 'service',
      reason: 'service_down',
      paced: PACED,
      isPaid: false,
      isPool,
      targetsAt: ({ host }) => (isPool ? [`m@b/${host}`, `n@b/${host}`] : ['m@b', 'n@b']),
      lookAt: async ({ host }): Promise<Look> => {
        if (silent.has(host)) return { up: null, detail: '' };
        if (bad.has(host)) throw new Error(`no ${host}`);
        return { up: true, detail: '' };
      },
    },
    made,
  );
  return { ...made, bad, silent, probe };
}

test('so many failures in a row and it is out, so many good looks and it is back', async () => {
  const { bad, probe, shown, findings, clock } = rig([place('x')]);
  assert.equal(await probe.look(), true);
  bad.add('x');
  for (let each = 0; each < 2; each += 1) assert.equal(await probe.look(), false);
  assert.equal(shown('m@b', 'service'), 'well');
  await probe.look();
  assert.deepEqual([shown('m@b', 'service'), shown('n@b', 'service')], ['0 service_down', '0 service_down']);
  assert.equal(findings.get('m@b', 'service', clock.at)?.detail, 'no x');
  bad.clear();
  await probe.look();
  assert.equal(shown('m@b', 'service'), '0 service_down');
  await probe.look();
  assert.equal(shown('m@b', 'service'), 'well');
});

test('of several endpoints those that are well give the factor, by weight', async () => {
  const { bad, probe, shown, findings, clock } = rig([place('x', 3), place('y')]);
  bad.add('x');
  for (let each = 0; each < 3; each += 1) await probe.look();
  assert.equal(shown('m@b', 'service'), '0.25 service_down');
  assert.equal(findings.get('m@b', 'service', clock.at)?.detail, '1 of 2 endpoints: no x');
  bad.add('y');
  for (let each = 0; each < 3; each += 1) await probe.look();
  assert.equal(shown('m@b', 'service'), '0 service_down');
});

test('a look that says nothing changes nothing, and what is not looked at any more is forgotten', async () => {
  const { bad, silent, probe, shown, clock } = rig([place('x')]);
  silent.add('x');
  assert.equal(await probe.look(), null);
  silent.clear();
  bad.add('x');
  for (let each = 0; each < 3; each += 1) await probe.look();
  silent.add('x');
  await probe.look();
  assert.equal(shown('m@b', 'service'), '0 service_down');
  clock.at += 3.6 * PACED.intervalMs + PACED.timeoutMs + 1999;
  assert.equal(shown('m@b', 'service'), '0 service_down');
  clock.at += 1;
  assert.equal(shown('m@b', 'service'), 'well');
});

test('who takes over goes on from what was found', async () => {
  const first = rig([place('x')]);
  first.bad.add('x');
  for (let each = 0; each < 3; each += 1) await first.probe.look();
  const next = rig([place('x')], first);
  await next.probe.look();
  assert.equal(next.shown('m@b', 'service'), '0 service_down');
  await next.probe.look();
  assert.equal(next.shown('m@b', 'service'), 'well');
  next.bad.add('x');
  for (let each = 0; each < 3; each += 1) await next.probe.look();
  next.probe.forget();
  assert.equal(next.shown('m@b', 'service'), 'well');
});

test('a mind is changed by looks in a row alone', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(true, false, null), { maxLength: 60 }), (looks) => {
      const judge = new Judge(PACED, false);
      let [down, good, bad] = [false, 0, 0];
      for (const up of looks) {
        judge.note({ up, detail: '' });
        if (up === true) [good, bad] = [good + 1, 0];
        if (up === false) [good, bad] = [0, bad + 1];
        if (!down && bad >= 3) down = true;
        if (down && good >= 2) down = false;
        assert.equal(judge.isDown, down);
      }
    }),
  );
});

test('in a pool each endpoint is spoken of by itself', async () => {
  const made = desk();
  const { bad, probe, shown } = rig([place('x', 3), place('y')], made, true);
  bad.add('x');
  for (let each = 0; each < 3; each += 1) await probe.look();
  assert.deepEqual(
    ['m@b/x', 'n@b/x', 'm@b/y', 'm@b'].map((target) => shown(target, 'service')),
    ['0 service_down', '0 service_down', 'well', 'well'],
  );
  probe.forget();
  assert.equal(shown('m@b/x', 'service'), 'well');
  // Whoever goes on begins with what was found so far.
  for (let each = 0; each < 3; each += 1) await probe.look();
  const next = rig([place('x', 3), place('y')], made, true);
  next.bad.add('x');
  await next.probe.look();
  assert.deepEqual([shown('m@b/x', 'service'), shown('m@b/y', 'service')], ['0 service_down', 'well']);
});
