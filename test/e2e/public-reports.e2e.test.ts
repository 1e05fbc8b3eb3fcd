import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CaseGateway, openCaseGateway } from '../cases/case-gateway.ts';
import { type CasePlan, planOf, STORE_ERROR_POLICIES, type StoreErrorPolicy } from '../cases/case-plan.ts';
import { evidenceOf } from '../cases/evidence.ts';
import { NOT_YET } from '../cases/not-yet.ts';
import { loadReports, type Report } from '../cases/report.ts';
import { type CaseResult, runCase } from '../cases/run-case.ts';

/** Cases that wait for minutes: they run beside the others. */
const SLOW: ReadonlySet<string> = new Set(['RL-04']);

const reports = loadReports();
const isSkipped = ({ id }: Report): boolean => {
  const entry = NOT_YET[id];
  return entry !== undefined && entry.steps === undefined && entry.claims === undefined;
};
const title = ({ id, symptom }: Report): string => `${id}: ${symptom}`;

interface Outcome {
  readonly result: CaseResult;
  readonly evidence: string;
}

async function outcomeOf(report: Report, env: CaseGateway, policy: StoreErrorPolicy | null): Promise<Outcome> {
  const result = await runCase({ report, env, policy, notYet: NOT_YET[report.id] ?? null });
  return { result, evidence: result.failures.length === 0 ? '' : await evidenceOf(result, env) };
}

/** On a gateway of its own. */
async function runAlone(report: Report, policy: StoreErrorPolicy | null): Promise<Outcome> {
  const env = await openCaseGateway(planOf(report, { policy, ownRedis: true }));
  try {
    return await outcomeOf(report, env, policy);
  } finally {
    await env.close();
  }
}

function hold({ result, evidence }: Outcome, diagnostic: (message: string) => void): void {
  for (const note of result.notes) diagnostic(`not held, but only wished for: ${note}`);
  assert.deepEqual(result.failures, [], evidence);
}

const shared = new Map<string, { readonly plan: CasePlan; readonly members: Report[] }>();
for (const report of reports) {
  if (isSkipped(report) || SLOW.has(report.id) || report.hint.limits?.on_redis_error !== undefined) continue;
  const plan = planOf(report);
  const group = shared.get(plan.key) ?? { plan, members: [] };
  group.members.push(report);
  shared.set(plan.key, group);
}

describe('public reports', () => {
  const slow = new Map<string, Promise<Outcome>>();

  before(() => {
    for (const report of reports.filter(({ id }) => SLOW.has(id))) {
      const work = runAlone(report, null);
      work.catch(() => undefined);
      slow.set(report.id, work);
    }
  });

  for (const { plan, members } of shared.values()) {
    describe(`on one gateway: ${members.map(({ id }) => id).join(' ')}`, () => {
      let env: CaseGateway;
      before(async () => {
        env = await openCaseGateway(plan);
      });
      after(() => env.close());

      for (const report of members) {
        test(title(report), async (t) => {
          const part = NOT_YET[report.id];
          if (part !== undefined) t.diagnostic(`only in part: ${part.reason}`);
          hold(await outcomeOf(report, env, null), (message) => t.diagnostic(message));
        });
      }
    });
  }

  for (const report of reports.filter(({ hint }) => hint.limits?.on_redis_error !== undefined)) {
    test(title(report), async (t) => {
      for (const policy of Object.keys(STORE_ERROR_POLICIES) as StoreErrorPolicy[]) {
        await t.test(`policy ${policy}`, async (one) => {
          hold(await runAlone(report, policy), (message) => one.diagnostic(message));
        });
      }
    });
  }

  for (const report of reports.filter(isSkipped)) {
    test(title(report), (t) => t.skip(NOT_YET[report.id]?.reason ?? ''));
  }

  for (const report of reports.filter(({ id }) => SLOW.has(id))) {
    test(title(report), async (t) => {
      const outcome = await slow.get(report.id);
      assert.ok(outcome);
      hold(outcome, (message) => t.diagnostic(message));
    });
  }
});
