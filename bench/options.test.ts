import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosen, readOptions } from './options.ts';
import { fullPlan, quickPlan } from './plans.ts';
import { estimate } from './estimate.ts';

test('a part is not written into docs/, unless it is merged', () => {
  assert.equal(readOptions([]).writes, 'anew');
  assert.equal(readOptions(['--peers', '--install']).writes, 'anew');
  assert.equal(readOptions(['--only', 'plain']).writes, 'no');
  assert.equal(readOptions(['--setups', 'echo', '--merge']).writes, 'merged');
  assert.equal(readOptions(['--no-write', '--merge']).writes, 'no');
});

test('to install peers is to ask for them; a soak is told in minutes', () => {
  const { peers, soakMinutes } = readOptions(['--install', '--soak', '10m']);
  assert.equal(peers, true);
  assert.equal(soakMinutes, 10);
  assert.throws(() => readOptions(['--soak', '1h']), /--soak: 1h/);
  assert.throws(() => readOptions(['--rounds', '0']), /--rounds: 0/);
});

test('what is chosen is what runs; a name that is not there is told with those that are', () => {
  const plan = quickPlan(['portkey']);
  const part = chosen(plan, readOptions(['--only', 'plain,latency', '--setups', 'echo,portkey', '--rounds', '1']));
  assert.deepEqual(
    part.workloads.map(({ name, setups }) => [name, setups]),
    [
      ['plain', ['echo', 'portkey']],
      ['latency', ['echo', 'portkey']],
    ],
  );
  assert.equal(part.rounds, 1);
  assert.throws(() => chosen(plan, readOptions(['--only', 'plane'])), /--only: no plane here; there are plain,/);
  assert.throws(() => chosen(plan, readOptions(['--setups', 'litellm'])), /--setups: no litellm here/);
});

test('a soak can be named like a workload, alone or beside some', () => {
  assert.equal(readOptions(['--only', 'plain']).soakMinutes, 0);
  const { only, soakMinutes } = readOptions(['--only', 'soak']);
  assert.deepEqual([only, soakMinutes], [[], 10]);
  assert.equal(chosen(quickPlan([]), readOptions(['--only', 'soak'])).workloads.length, 0);
  const both = readOptions(['--only', 'plain,soak', '--soak', '2m']);
  assert.deepEqual([both.only, both.soakMinutes], [['plain'], 2]);
});

test('a flame graph is of plain chat on the gateway with everything on, and leaves the figures alone', () => {
  const options = readOptions(['--flame', '--peers']);
  assert.equal(options.writes, 'no');
  assert.deepEqual(
    chosen(fullPlan([]), options).workloads.map(({ name, setups }) => [name, setups]),
    [['plain', ['tokenlat']]],
  );
});

test('the quick plan stays far below three minutes, and every workload of a plan has a name of its own', () => {
  assert.ok(estimate(quickPlan([])) < 150);
  const names = fullPlan(['litellm']).workloads.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});
