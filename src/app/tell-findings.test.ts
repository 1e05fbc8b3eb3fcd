import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../core/finding.ts';
import { Findings } from '../routing/findings.ts';
import { createTellFindings } from './tell-findings.ts';

const finding = (factor: number, changes: Partial<Finding> = {}): Finding => ({
  factor,
  reason: 'service_down',
  detail: 'answered 500',
  until: 100,
  ...changes,
});

function rig(isLooking = true) {
  const lines: string[] = [];
  const figures: string[] = [];
  const say =
    (level: string) =>
    (message: string, fields: object = {}): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const findings = new Findings({
    onChange: createTellFindings({
      log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
      figures: { factor: (deployment, source, factor) => figures.push(`${deployment} ${source} ${factor}`) },
      isLooking: () => isLooking,
    }),
  });
  return { findings, lines, figures };
}

test('once a change: out, less, well again, also when it ran out', () => {
  const { findings, lines, figures } = rig();
  const set = (after: Finding | null): void => findings.set('m@b 10.0.0.1:80', 'service', after);
  set(null);
  set(finding(0));
  set(finding(0, { until: 200 }));
  set(finding(0.5));
  set(finding(0.25, { detail: 'other' }));
  set(null);
  set(finding(0));
  findings.sweep(100);
  assert.deepEqual(
    lines.map((line) => line.slice(0, line.indexOf('{') - 1)),
    [
      'warn a deployment gets nothing more',
      'warn a deployment gets less',
      'info a deployment is well again',
      'warn a deployment gets nothing more',
      'info a deployment is well again',
    ],
  );
  assert.match(
    lines[0] ?? '',
    /"deployment":"m@b","source":"service","factor":0,"reason":"service_down","detail":"answered 500"/,
  );
  assert.deepEqual(figures, [
    'm@b service 0',
    'm@b service 0.5',
    'm@b service 0.25',
    'm@b service 1',
    'm@b service 0',
    'm@b service 1',
  ]);
});

test('what another process found it tells of itself', () => {
  const { findings, lines, figures } = rig(false);
  findings.set('m@b', 'gpu', finding(0, { reason: 'overheated' }));
  assert.match(lines.join(), /^debug another process found/);
  assert.deepEqual(figures, ['m@b gpu 0']);
});
