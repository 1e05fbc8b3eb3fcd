import type { Source, TargetFindings } from '../../core/finding.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** One way of looking at one backend, again and again; what it finds it tells by itself. */
export interface Probe {
  /** Names it; another configuration of the same probe has another name. */
  readonly key: string;
  readonly backend: string;
  readonly kind: Source;
  readonly intervalMs: number;
  /** Does a look cost money? */
  readonly isPaid: boolean;
  /** One look; never rejects. True: all is well, false: not, null: it said nothing about that. */
  readonly look: () => Promise<boolean | null>;
  /** Takes back what it told. */
  readonly forget: () => void;
}

/** What every probe tells to, and by which time. */
export interface ProbeDesk {
  readonly findings: TargetFindings;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long a finding counts without a new one: three looks may be lost on the way. */
export function keepMs({ intervalMs, timeoutMs }: { readonly intervalMs: number; readonly timeoutMs: number }): number {
  return 3.6 * intervalMs + timeoutMs + 2000;
}

/** The words of an error, short, for details and logs. */
export function reasonOf(error: unknown): string {
  const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  return (message === '' ? (code ?? 'failed') : message).replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120);
}
