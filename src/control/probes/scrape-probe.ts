import type { Source } from '../../core/finding.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Scraped } from '../../core/probes.ts';
import type { Ask } from '../http/ask.ts';
import { type Probe, type ProbeDesk, reasonOf } from './probe.ts';

export interface ScrapeProbeOptions {
  readonly key: string;
  readonly backend: string;
  readonly kind: Source;
  readonly scraped: Scraped;
  readonly allowLinkLocal: boolean;
  readonly ask: Ask;
  /** Takes the text in; false where it says nothing of what is looked for. @param until - So long it counts. */
  readonly take: (text: string, until: number) => boolean;
  readonly forget: () => void;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

const MAX_BYTES = 4 * 1_048_576;

/**
 * Reads figures again and again. An address that answers nothing is no bad sign of the backend: its last figures count for
 * a while, then none, and that is an anomaly.
 */
export function createScrapeProbe(options: ScrapeProbeOptions, { clock }: Pick<ProbeDesk, 'clock'>): Probe {
  const { key, backend, kind, scraped, allowLinkLocal, ask, take, forget, log, metrics } = options;
  const { url: text, intervalMs, timeoutMs, staleMs } = scraped;
  const url = new URL(text);
  const isTls = url.protocol === 'https:';
  let goodAt = clock.now();
  let isStale = false;

  async function read(): Promise<string> {
    const { head, body } = await ask({
      tls: isTls,
      host: url.hostname.replaceAll(/^\[|\]$/g, ''),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: [['accept', 'text/plain']],
      body: null,
      timeoutMs,
      maxBytes: MAX_BYTES,
      allowLinkLocal,
    });
    if (head.status !== 200) throw new Error(`answered ${head.status}`);
    return body.toString('utf8');
  }

  function missed(why: string): false {
    if (isStale || clock.now() - goodAt <= staleMs) return false;
    isStale = true;
    forget();
    metrics.anomaly('probe_stale');
    log.warn('no figures of a backend for long: it counts as well', { backend, kind, reason: why });
    return false;
  }

  return {
    key,
    backend,
    kind,
    intervalMs,
    isPaid: false,
    async look() {
      try {
        if (!take(await read(), clock.now() + staleMs)) return missed('nothing of what is looked for is in the answer');
      } catch (error) {
        return missed(reasonOf(error));
      }
      if (isStale) log.info('figures of a backend again', { backend, kind });
      isStale = false;
      goodAt = clock.now();
      return true;
    },
    forget,
  };
}
