import { DEFAULT_BREAKER } from '../../core/breaker-policy.ts';
import type { BreakerRules } from '../../core/breaker-policy.ts';
import type { ConfigDocument } from '../schema/document.ts';

export function compileBreakers({ breakers }: Pick<ConfigDocument, 'breakers'>): BreakerRules {
  const { hard, slow } = breakers;
  return {
    enabled: breakers.enabled,
    policy: {
      ...DEFAULT_BREAKER,
      soft: {
        windowMs: breakers.window,
        errorRate: breakers.error_rate,
        slowRate: DEFAULT_BREAKER.soft.slowRate,
        minimum: breakers.minimum,
        inARow: breakers.in_a_row,
        probeShare: breakers.probe_share,
        probeEveryMs: breakers.probe_interval,
      },
      hard: { windowMs: hard.window, errorRate: hard.error_rate, errors: hard.errors, openMs: hard.open },
    },
    slow: { firstTokenMs: slow.first_token ?? null, totalMs: slow.total ?? null },
    whenAllOpen: breakers.when_all_open,
    text: breakers.text ?? null,
  };
}
