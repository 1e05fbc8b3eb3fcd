import type { OutReason, Source } from '../../core/finding.ts';
import type { Paced } from '../../core/probes.ts';
import type { Backend, Endpoint } from '../../core/snapshot.ts';
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
  /** Incarnations that it speaks of. */
  readonly targets: readonly string[];
  /** What it rejects with is a bad sign like any other. */
  readonly lookAt: (endpoint: Endpoint) => Promise<Look>;
}

/**
 * Looks at every endpoint of a backend and judges each by itself. The factor is the share of those that are well, by weight:
 * who chooses among them may not know it yet.
 */
export function createEndpointProbe(options: EndpointProbeOptions, { findings, clock }: ProbeDesk): Probe {
  const { key, backend, kind, reason, paced, isPaid, targets, lookAt } = options;
  const { endpoints } = backend;
  const [target = ''] = targets;
  const wasDown = findings.get(target, kind, clock.now())?.factor === 0;
  const judges = endpoints.map(() => new Judge(paced, wasDown));

  async function lookOnce(endpoint: Endpoint): Promise<Look> {
    try {
      return await lookAt(endpoint);
    } catch (error) {
      return { up: false, detail: reasonOf(error) };
    }
  }

  function tell(): void {
    const weigh = (some: readonly Endpoint[]): number => some.reduce((sum, { weight }) => sum + weight, 0);
    const isWell = (_: Endpoint, at: number): boolean => judges[at]?.isDown !== true;
    const factor = weigh(endpoints.filter(isWell)) / weigh(endpoints);
    const down = judges.filter(({ isDown }) => isDown);
    const some = endpoints.length > 1 ? `${down.length} of ${endpoints.length} endpoints: ` : '';
    const until = clock.now() + keepMs(paced);
    const finding = factor < 1 ? { factor, reason, detail: `${some}${down[0]?.detail ?? ''}`, until } : null;
    for (const each of targets) findings.set(each, kind, finding);
  }

  return {
    key,
    backend: backend.name,
    kind,
    intervalMs: paced.intervalMs,
    isPaid,
    async look() {
      const looks = await Promise.all(endpoints.map(lookOnce));
      looks.forEach((look, at) => judges[at]?.note(look));
      tell();
      if (looks.some(({ up }) => up === false)) return false;
      return looks.some(({ up }) => up === true) ? true : null;
    },
    forget: () => targets.forEach((each) => findings.set(each, kind, null)),
  };
}
