import type { Finding, OutReason, Source } from '../../core/finding.ts';
import type { Paced } from '../../core/probes.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { Backend } from '../../core/snapshot.ts';
import { Judge, type Look } from './judge.ts';
import { keepMs, type Probe, type ProbeDesk, reasonOf } from './probe.ts';

export interface EndpointProbeOptions {
  readonly key: string;
  readonly backend: Pick<Backend, 'name' | 'endpoints'>;
  readonly kind: Source;
  /** What is said of a backend none of whose endpoints is well. */
  readonly reason: OutReason;
  readonly paced: Paced;
  readonly isPaid: boolean;
  /** Incarnations that it speaks of: all of the backend, or in a pool those of an endpoint. */
  readonly targetsAt: (endpoint: Endpoint) => readonly string[];
  /** Does it speak of each endpoint by itself? */
  readonly isPool: boolean;
  /** What it rejects with is a bad sign like any other. */
  readonly lookAt: (endpoint: Endpoint) => Promise<Look>;
}

/**
 * Looks at every endpoint of a backend and judges each by itself. In a pool each is spoken of by itself; else the factor is the
 * share of those that are well, by weight: who chooses among them may not know it yet.
 */
export function createEndpointProbe(options: EndpointProbeOptions, { findings, clock }: ProbeDesk): Probe {
  const { key, backend, kind, reason, paced, isPaid, targetsAt, isPool, lookAt } = options;
  const { endpoints } = backend;
  const wasDown = (endpoint: Endpoint): boolean =>
    findings.get(targetsAt(endpoint)[0] ?? '', kind, clock.now())?.factor === 0;
  const all = endpoints.map((endpoint) => ({ endpoint, judge: new Judge(paced, wasDown(endpoint)) }));
  type Judged = (typeof all)[number];
  // What is spoken of together.
  const parts: readonly (readonly Judged[])[] = isPool ? all.map((each) => [each]) : [all];

  async function lookOnce(endpoint: Endpoint): Promise<Look> {
    try {
      return await lookAt(endpoint);
    } catch (error) {
      return { up: false, detail: reasonOf(error) };
    }
  }

  function set(part: readonly Judged[], finding: Finding | null): void {
    const [first] = part;
    for (const target of first === undefined ? [] : targetsAt(first.endpoint)) findings.set(target, kind, finding);
  }

  function tell(part: readonly Judged[]): void {
    const weigh = (some: readonly Judged[]): number => some.reduce((sum, { endpoint }) => sum + endpoint.weight, 0);
    const down = part.filter(({ judge }) => judge.isDown);
    const factor = weigh(part.filter((each) => !down.includes(each))) / weigh(part);
    const some = part.length > 1 ? `${down.length} of ${part.length} endpoints: ` : '';
    const until = clock.now() + keepMs(paced);
    set(part, factor < 1 ? { factor, reason, detail: `${some}${down[0]?.judge.detail ?? ''}`, until } : null);
  }

  return {
    key,
    backend: backend.name,
    kind,
    intervalMs: paced.intervalMs,
    isPaid,
    async look() {
      const looks = await Promise.all(endpoints.map(lookOnce));
      looks.forEach((look, at) => all[at]?.judge.note(look));
      parts.forEach(tell);
      if (looks.some(({ up }) => up === false)) return false;
      return looks.some(({ up }) => up === true) ? true : null;
    },
    forget: () => parts.forEach((part) => set(part, null)),
  };
}
