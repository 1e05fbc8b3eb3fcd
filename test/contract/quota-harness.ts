import { newRequestId, operationOf } from '../../src/core/ids.ts';
import type { OperationId } from '../../src/core/ids.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { LimitLine, LimitUnit, LimitWindow } from '../../src/core/limit.ts';
import { microUnits } from '../../src/core/money.ts';
import type { Clock } from '../../src/core/ports/clock.ts';
import type { ExpiredLease } from '../../src/core/ports/quota-store.ts';
import type { Log, Metrics } from '../../src/core/ports/telemetry.ts';
import type { Stores } from '../../src/store/stores.ts';
import { ledgerEvent } from '../support/ledger-event.ts';

/** What the contract needs of a store: clients that share one state, and a clock in the test's hand. */
export interface Harness {
  readonly name: string;
  /** Independent clients of one state. */
  readonly clients: readonly [Stores, Stores, Stores, Stores];
  /** Unix ms that all scripts see from now on. */
  readonly setTime: (ms: number) => Promise<void>;
  /** Leases that ran out, as the stores told of them. */
  readonly expired: readonly ExpiredLease[];
  readonly close: () => Promise<void>;
}

export class TestClock implements Clock {
  ms = 0;
  now(): number {
    return this.ms;
  }
  time(): number {
    return this.ms;
  }
}

export interface Recorded {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly' | 'storeState'>;
  readonly lines: string[];
  readonly states: string[];
  readonly anomalies: string[];
}

export function recorder(): Recorded {
  const [lines, states, anomalies] = [[], [], []] as [string[], string[], string[]];
  const line = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  return {
    log: { debug: () => {}, info: line('info'), warn: line('warn'), error: line('error') },
    metrics: { anomaly: (kind) => void anomalies.push(kind), storeState: (state) => void states.push(state) },
    lines,
    states,
    anomalies,
  };
}

export const SLIDING_MINUTE: LimitWindow = { kind: 'sliding', seconds: 60 };
export const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
export const MONTH: LimitWindow = { kind: 'calendar', unit: 'month' };

export function line(unit: LimitUnit, window: LimitWindow, limit: number, scope = 'tenant'): LimitLine {
  return { scope, unit, window, limit };
}

export function operation(): OperationId {
  return operationOf(newRequestId(0));
}

/** What an operation of `tokens` books. */
export function event(id: OperationId, tokens: number, fields: Partial<LedgerEvent> = {}): LedgerEvent {
  return ledgerEvent({
    operation: id,
    requestId: `shown-${id}`,
    promptTokens: tokens,
    completionTokens: 0,
    cost: microUnits(tokens * 2),
    firstTokenMs: 12,
    totalMs: 34,
    time: 56,
    ...fields,
  });
}

let tenants = 0;
/** A tenant that no other test uses, with everything in its name that could break a key. */
export function freshTenant(): string {
  tenants += 1;
  return `t${tenants}:{x}\r\n\0é%`;
}
