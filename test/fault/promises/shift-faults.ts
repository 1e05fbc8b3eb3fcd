import { setTimeout as sleep } from 'node:timers/promises';
import { type Conduct, type FaultyBackend } from '../rig/faulty-backend.ts';

/** Something that goes wrong with one backend. */
export interface Fault {
  readonly name: string;
  /** When its share must be gone, milliseconds from the fault's begin; null = it is only told. */
  readonly mostMs: number | null;
  /** Which requests another backend can still serve, because their clients have seen nothing yet. */
  readonly spares: { readonly streams: boolean; readonly whole: boolean };
  /** Gives what ends it. */
  readonly begin: (backend: FaultyBackend) => Promise<() => Promise<void>>;
}

const ERRORS_MS = 5000;
const LATENCY_MS = 15_000;
const SLOWER = 10;
const RAMP_MS = 4000;
const FLAP_MS = 2000;
const ALL = { streams: true, whole: true };

export const FAULTS: readonly Fault[] = [
  { name: 'slow', mostMs: LATENCY_MS, spares: ALL, begin: slow },
  { name: 'ramp', mostMs: LATENCY_MS, spares: ALL, begin: ramp },
  { name: 'errors', mostMs: ERRORS_MS, spares: ALL, begin: conduct('error') },
  { name: 'silent', mostMs: ERRORS_MS, spares: ALL, begin: conduct('silent') },
  { name: 'half-silent', mostMs: ERRORS_MS, spares: ALL, begin: conduct('silent_after_head') },
  { name: 'cut', mostMs: ERRORS_MS, spares: { streams: false, whole: false }, begin: conduct('cut') },
  { name: 'busy', mostMs: ERRORS_MS, spares: ALL, begin: conduct('busy') },
  { name: 'refused', mostMs: ERRORS_MS, spares: ALL, begin: refused },
  { name: 'flapping', mostMs: null, spares: ALL, begin: flapping },
];

function conduct(how: Conduct): Fault['begin'] {
  return async (backend) => {
    backend.conduct = how;
    return async () => void (backend.conduct = 'answer');
  };
}

async function slow(backend: FaultyBackend): Promise<() => Promise<void>> {
  backend.slowness = SLOWER;
  return async () => void (backend.slowness = 1);
}

async function ramp(backend: FaultyBackend): Promise<() => Promise<void>> {
  const began = performance.now();
  const timer = setInterval(() => {
    const done = Math.min(1, (performance.now() - began) / RAMP_MS);
    backend.slowness = 1 + (SLOWER - 1) * done;
  }, 100);
  return async () => {
    clearInterval(timer);
    backend.slowness = 1;
  };
}

async function refused(backend: FaultyBackend): Promise<() => Promise<void>> {
  await backend.shut();
  return backend.open;
}

/** As long good as bad, again and again. */
async function flapping(backend: FaultyBackend): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const flap = async (): Promise<void> => {
    for (let isBad = true; !stop.signal.aborted; isBad = !isBad) {
      backend.conduct = isBad ? 'error' : 'answer';
      await sleep(FLAP_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
    backend.conduct = 'answer';
  };
  const over = flap();
  return async () => {
    stop.abort();
    await over;
  };
}
