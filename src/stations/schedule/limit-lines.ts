import type { LimitLine } from '../../core/limit.ts';
import type { Principal } from '../../core/principal.ts';
import type { Snapshot, TenantLimit } from '../../core/snapshot.ts';

function lineOf({ unit, window, limit, per }: TenantLimit, subject: string): LimitLine {
  return { scope: per === 'tenant' ? 'tenant' : `subject:${subject}`, unit, window, limit };
}

/** Every limit that a request of `principal` must pass: those of its tenant (else the defaults) and those of its credential. */
export function limitLines(config: Snapshot, principal: Principal): readonly LimitLine[] {
  const { limits } = config.tenants.get(principal.tenant) ?? config.tenantDefaults;
  return [...limits.map((limit) => lineOf(limit, principal.subject)), ...principal.limits];
}
