import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  isForward,
  isHeldBack,
  mayBecome,
  nextOf,
  type Stage,
  STAGES,
  type StageDecision,
  standingOf,
} from './stage.ts';

const stage = () => fc.constantFrom<Stage>('gray', 'full', 'retired');

test('stages go forward, and a retired one begins again', () => {
  const allowed = STAGES.flatMap((from) => STAGES.filter((to) => mayBecome(from, to)).map((to) => `${from} ${to}`));
  assert.deepEqual(allowed, [
    'gray gray',
    'gray full',
    'gray retired',
    'full full',
    'full retired',
    'retired gray',
    'retired retired',
  ]);
  assert.equal(nextOf('full'), 'retired');
  assert.equal(nextOf('gray'), 'full or retired');
});

test('whatever configurations say in which order, none leads a deployment back', () => {
  fc.assert(
    fc.property(stage(), fc.array(stage(), { maxLength: 20 }), (first, said) => {
      let decided: StageDecision = { upstreamModel: 'm', stage: first, percent: null, configured: first };
      for (const configured of said) {
        const before = decided.stage;
        const asked = { upstreamModel: 'm', stage: configured };
        const { stage: now } = standingOf(asked, decided);
        assert.ok(isForward(before, now), `${before} to ${now}`);
        assert.equal(isHeldBack(asked, decided), now !== configured && decided.configured !== configured);
        if (!isHeldBack(asked, decided)) decided = { ...decided, stage: now, configured };
      }
    }),
  );
});

test('replicas whose files differ come to the same end, whoever writes first', () => {
  fc.assert(
    fc.property(
      stage(),
      fc.array(stage(), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(3), { maxLength: 30 }),
      (first, files, turns) => {
        let decided: StageDecision = { upstreamModel: 'm', stage: first, percent: null, configured: first };
        const write = (file: Stage): boolean => {
          const asked = { upstreamModel: 'm', stage: file };
          if (decided.configured === file || isHeldBack(asked, decided)) return false;
          decided = { ...decided, stage: standingOf(asked, decided).stage, configured: file };
          return true;
        };
        for (const turn of turns) write(files[turn % files.length] as Stage);
        for (let round = 0; round < 3; round += 1) for (const file of files) write(file);
        assert.ok(
          files.every((file) => !write(file)),
          'they go on writing',
        );
        for (const file of files) {
          assert.equal(standingOf({ upstreamModel: 'm', stage: file }, decided).stage, decided.stage);
          assert.ok(isForward(file, decided.stage) || file === first);
        }
      },
    ),
  );
});

test('an operator has the last word until the configuration says something new', () => {
  const decided: StageDecision = { upstreamModel: 'm', stage: 'full', percent: 7, configured: 'gray' };
  assert.deepEqual(standingOf({ upstreamModel: 'm', stage: 'gray', percent: 3 }, decided), {
    stage: 'full',
    percent: 0,
  });
  assert.equal(standingOf({ upstreamModel: 'm', stage: 'retired' }, decided).stage, 'retired');
  const again: StageDecision = { upstreamModel: 'm', stage: 'gray', percent: 7, configured: 'retired' };
  assert.deepEqual(standingOf({ upstreamModel: 'm', stage: 'retired' }, again), { stage: 'gray', percent: 7 });
  assert.deepEqual(standingOf({ upstreamModel: 'm', stage: 'retired', percent: 4 }, { ...again, percent: null }), {
    stage: 'gray',
    percent: 4,
  });
});

test('another model behind the name is another deployment', () => {
  const decided: StageDecision = { upstreamModel: 'v1', stage: 'retired', percent: null, configured: 'retired' };
  assert.deepEqual(standingOf({ upstreamModel: 'v2', stage: 'gray', percent: 5 }, decided), {
    stage: 'gray',
    percent: 5,
  });
  assert.equal(isHeldBack({ upstreamModel: 'v2', stage: 'gray' }, decided), false);
});
