import { test } from 'node:test';
import { fullAuditDisk } from './promises/audit-disk.ts';
import { assertKept } from './rig/verdict.ts';

for (const rule of ['block', 'continue'] as const) {
  test(`the disk of the audit is full (on_error: ${rule})`, async (t) => {
    const verdicts = await fullAuditDisk({ rule });
    for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
    assertKept(verdicts);
  });
}
