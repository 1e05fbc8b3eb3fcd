import type { Log, LogFields, Metrics } from '../../core/ports/telemetry.ts';
import type { Match, MatchProblem } from './compile-match.ts';

/** Who hears of rules that cannot be used. */
export interface FaultEars {
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly log: Pick<Log, 'error'>;
}

/** A checked configuration has no bad rule; should one come all the same, that is told, and it is null. */
export function usable<Compiled extends { readonly ok: true }>(
  compiled: Compiled | MatchProblem,
  { metrics, log }: FaultEars,
  message: string,
  fields: LogFields,
): Compiled | null {
  if (compiled.ok) return compiled;
  metrics.anomaly('route_rule_unusable');
  log.error(message, { ...fields, error: compiled.error });
  return null;
}

/** Does a rule hold? One that cannot be answered does not; `onFault` hears `<name>: <code>`. */
export function holds<Variables>(
  { name, match }: { readonly name: string; readonly match: Match<Variables> },
  variables: Variables,
  { metrics }: Pick<FaultEars, 'metrics'>,
  onFault: (fault: string) => void,
): boolean {
  const { matched, fault } = match.evaluate(variables);
  if (fault !== null) {
    metrics.anomaly('route_rule_failed');
    onFault(`${name}: ${fault}`);
  }
  return matched;
}
