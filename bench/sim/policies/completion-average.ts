import type { PolicySpec } from '../engine/policy.ts';
import { createInFlight } from './in-flight.ts';
import { leastOf } from './least.ts';

const WEIGHT_OF_NEWEST = 0.1;

/** Requests in flight times a moving average of how long answers took, as many gateways weigh their backends. */
export const completionAverage: PolicySpec = {
  name: 'completion average',
  create: ({ hosts, random }) => {
    const inFlight = createInFlight(hosts.length);
    const average: (number | null)[] = hosts.map(() => null);
    return {
      pick: (_request, tried) => {
        const cost = (host: number): number => (inFlight.of(host) + 1) * (average[host] ?? 1);
        const host = leastOf(hosts.length, cost, { random, except: tried });
        inFlight.start(host);
        return host;
      },
      onEnd: ({ host, startedAt }, { outcome, now }) => {
        inFlight.end(host);
        if (outcome !== 'ok') return;
        const old = average[host] ?? null;
        average[host] = old === null ? now - startedAt : old + WEIGHT_OF_NEWEST * (now - startedAt - old);
      },
    };
  },
};
