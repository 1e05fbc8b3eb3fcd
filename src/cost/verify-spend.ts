import { formatMicroUnits } from '../core/money.ts';
import type { SpendReader, SpendRow } from '../core/ports/spend-reader.ts';

const COUNTS = ['requests', 'promptTokens', 'cachedTokens', 'completionTokens', 'cost'] as const;
type Count = (typeof COUNTS)[number];

/** One row of the roll-ups that is not the sum of its events. */
export interface SpendDifference {
  readonly tenant: string;
  /** RFC 3339. */
  readonly at: string;
  readonly keys: SpendRow['keys'];
  readonly currency: string;
  /** `missing`: events without a row. `unfounded`: a row without events. `differs`: other figures. */
  readonly kind: 'missing' | 'unfounded' | 'differs';
  /** What differs: as it is stored, and as the events say. */
  readonly figures: readonly { readonly name: Count; readonly stored: number; readonly events: number }[];
}

export interface SpendVerification {
  readonly consistent: boolean;
  readonly tenants: number;
  readonly differences: readonly SpendDifference[];
}

/** Compares the roll-ups of tenants with their events, one tenant after the other. Throws what the reader throws. */
export async function verifySpend({
  reader,
  tenants,
}: {
  readonly reader: Pick<SpendReader, 'verify'>;
  readonly tenants: readonly string[];
}): Promise<SpendVerification> {
  const differences: SpendDifference[] = [];
  for (const tenant of tenants)
    for (const { stored, events } of await reader.verify(tenant)) {
      const row = stored ?? events;
      if (row === null) continue;
      differences.push({
        tenant,
        at: new Date(row.at).toISOString(),
        keys: row.keys,
        currency: row.currency,
        kind: stored === null ? 'missing' : events === null ? 'unfounded' : 'differs',
        figures: COUNTS.map((name) => ({ name, stored: stored?.[name] ?? 0, events: events?.[name] ?? 0 })).filter(
          (figure) => figure.stored !== figure.events,
        ),
      });
    }
  return { consistent: differences.length === 0, tenants: tenants.length, differences };
}

/** For a terminal: one line a difference, and one that sums up. Names come as they are stored: print them with care. */
export function spendVerificationLines({ tenants, differences }: SpendVerification): readonly string[] {
  const lines = differences.map(({ tenant, at, keys, currency, kind, figures }) => {
    const place = Object.entries(keys).map(([key, value]) => `${key}=${value}`);
    const told = figures.map(
      ({ name, stored, events }) => `${name} ${shown(name, stored)} is ${shown(name, events)} by events`,
    );
    return `${[tenant, at, ...place, currency, kind].join(' ')}: ${told.join(', ')}`;
  });
  const of = `${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}`;
  const end =
    differences.length === 0 ? `${of}: every sum is that of its events` : `${of}: ${differences.length} sums are wrong`;
  return [...lines, end];
}

function shown(name: Count, value: number): string {
  return name === 'cost' ? formatMicroUnits(value as SpendRow['cost']) : String(value);
}
