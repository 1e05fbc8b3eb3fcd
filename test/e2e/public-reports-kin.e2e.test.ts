import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CaseGateway, openCaseGateway } from '../cases/case-gateway.ts';
import { type CasePlan, planOf } from '../cases/case-plan.ts';
import { evidenceOf } from '../cases/evidence.ts';
import { type Kin, reportOfKin } from '../cases/kin.ts';
import { ANTHROPIC_KIN } from '../cases/kin-anthropic.ts';
import { ERROR_KIN } from '../cases/kin-errors.ts';
import { GUIDED_KIN } from '../cases/kin-guided.ts';
import { REQUEST_KIN } from '../cases/kin-requests.ts';
import { STEP_KIN } from '../cases/kin-steps.ts';
import { STREAM_KIN, USAGE_KIN } from '../cases/kin-streams.ts';
import { TOOL_KIN } from '../cases/kin-tools.ts';
import type { Report } from '../cases/report.ts';
import { runCase } from '../cases/run-case.ts';

const KINDS: Readonly<Record<string, readonly Kin[]>> = {
  streams: STREAM_KIN,
  usage: USAGE_KIN,
  tools: TOOL_KIN,
  errors: ERROR_KIN,
  requests: REQUEST_KIN,
  guided: GUIDED_KIN,
  steps: STEP_KIN,
  anthropic: ANTHROPIC_KIN,
};

const groups = new Map<string, { readonly plan: CasePlan; readonly members: Report[] }>();
for (const [kind, list] of Object.entries(KINDS)) {
  for (const [index, kin] of list.entries()) {
    // The id is also the tenant of the case's bookings.
    const report = { ...reportOfKin(kin), id: `${kind}-${index + 1}`, symptom: kin.id };
    const plan = planOf(report);
    const group = groups.get(plan.key) ?? { plan, members: [] };
    group.members.push(report);
    groups.set(plan.key, group);
  }
}

describe('relatives of the public reports', () => {
  for (const { plan, members } of groups.values()) {
    describe(`on one gateway: ${members.length} cases`, () => {
      let env: CaseGateway;
      before(async () => {
        env = await openCaseGateway(plan);
      });
      after(() => env.close());

      for (const report of members) {
        test(`${report.id}: ${report.symptom}`, async () => {
          const result = await runCase({ report, env });
          const evidence = result.failures.length === 0 ? '' : await evidenceOf(result, env);
          assert.deepEqual(result.failures, [], evidence);
        });
      }
    });
  }
});
