import type { PolicySpec } from '../engine/policy.ts';
import { hashNumber } from '../engine/random.ts';
import type { SimRequest } from '../engine/request.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import { leastOf } from './least.ts';
import { createPrefixMap, type PrefixMap } from './prefix-map.ts';

/** What a host costs a request; the least wins. */
type Cost = (
  request: SimRequest,
  host: number,
  known: { readonly map: PrefixMap; readonly inFlight: InFlight },
) => number;

const PREFIX_WEIGHT = 3;
const LOAD_WEIGHT = 2;
/** Hosts with more than this many times the mean in flight, and a little, take no request for the sake of its prefix. */
const GATE_TIMES = 1.5;
const GATE_MORE = 2;
/** A smaller part of a prompt is what many prompts begin with, and no reason to crowd those who have it. */
const LEAST_MATCH = 0.1;

/** The host that remembers most of the prompt, whatever its load. */
export const maxPrefix = prefixPolicy('max prefix', ({ blocks }, host, { map }) => -map.match(host, blocks));

/** Prefix and load as a weighted sum, three to two. */
export const prefixScore: PolicySpec = {
  name: 'prefix 3 : load 2',
  create: ({ hosts, random }) => {
    const map = createPrefixMap(hosts);
    const inFlight = createInFlight(hosts.length);
    return {
      pick: ({ blocks }, tried) => {
        const counts = hosts.map((_, host) => inFlight.of(host));
        const [least, most] = [Math.min(...counts), Math.max(...counts)];
        const cost = (host: number): number => {
          const idle = most === least ? 1 : (most - inFlight.of(host)) / (most - least);
          return -(PREFIX_WEIGHT * map.match(host, blocks) + LOAD_WEIGHT * idle);
        };
        const host = leastOf(hosts.length, cost, { random, except: tried });
        inFlight.start(host);
        map.sent(host, blocks);
        return host;
      },
      onEnd: ({ host }) => inFlight.end(host),
    };
  },
};

/** The host that remembers most among those that are not loaded much above the mean; then the least loaded. */
export const gatedPrefix = prefixPolicy('gated prefix', ({ blocks }, host, { map, inFlight }) => {
  const own = inFlight.of(host);
  if (own > GATE_TIMES * inFlight.mean() + GATE_MORE) return own;
  const match = map.match(host, blocks);
  return (match < LEAST_MATCH ? 0 : -match) + own * 1e-6 - 1;
});

/** The same host for the same conversation. */
export const hashOfPrefix: PolicySpec = {
  name: 'hash',
  create: ({ hosts, random }) => ({
    // The first block of the trace's prompts is the same for all; the second is the first that says who is talking.
    pick: ({ id, blocks, model }, tried) => {
      const first = hashNumber(model ?? blocks[1] ?? id) % hosts.length;
      return leastOf(hosts.length, (host) => (host - first + hosts.length) % hosts.length, { random, except: tried });
    },
  }),
};

function prefixPolicy(name: string, cost: Cost): PolicySpec {
  return {
    name,
    create: ({ hosts, random }) => {
      const map = createPrefixMap(hosts);
      const inFlight = createInFlight(hosts.length);
      return {
        pick: (request, tried) => {
          const of = (host: number): number => cost(request, host, { map, inFlight });
          const host = leastOf(hosts.length, of, { random, except: tried });
          inFlight.start(host);
          map.sent(host, request.blocks);
          return host;
        },
        onEnd: ({ host }) => inFlight.end(host),
      };
    },
  };
}
