import type { Policy, PolicyOptions, PolicySpec } from '../engine/policy.ts';
import { createInFlight } from './in-flight.ts';
import { leastOf, untried } from './least.ts';

type Weight = (options: PolicyOptions, host: number) => number;

const equal: Weight = () => 1;
const configured: Weight = ({ hosts }, host) => hosts[host]?.weight ?? 1;

/** Fewest requests in flight. */
export const leastInFlight: PolicySpec = { name: 'least in flight', create: (options) => scan(options, equal) };

/** Weighted least connections: requests in flight by the weights of the configuration. */
export const weightedLeast: PolicySpec = {
  name: 'weighted least (configured)',
  create: (options) => scan(options, configured),
};

/** The better of two hosts drawn at random, by requests in flight. */
export const twoChoices: PolicySpec = { name: 'two choices', create: (options) => draw(options, equal) };

export const weightedTwoChoices: PolicySpec = {
  name: 'two choices (configured)',
  create: (options) => draw(options, configured),
};

function scan(options: PolicyOptions, weight: Weight): Policy {
  const { hosts, random } = options;
  const inFlight = createInFlight(hosts.length);
  return {
    pick: (_request, tried) => {
      const cost = (host: number): number => (inFlight.of(host) + 1) / weight(options, host);
      const host = leastOf(hosts.length, cost, { random, except: tried });
      inFlight.start(host);
      return host;
    },
    onEnd: ({ host }) => inFlight.end(host),
  };
}

function draw(options: PolicyOptions, weight: Weight): Policy {
  const { hosts, random } = options;
  const inFlight = createInFlight(hosts.length);
  const cost = (host: number): number => (inFlight.of(host) + 1) / weight(options, host);
  return {
    pick: (_request, tried) => {
      const left = untried(hosts.length, tried);
      const first = Math.floor(random() * left.length);
      const other = (first + 1 + Math.floor(random() * (left.length - 1))) % left.length;
      const [a, b] = [left[first] ?? 0, left[other] ?? 0];
      const host = cost(b) < cost(a) ? b : a;
      inFlight.start(host);
      return host;
    },
    onEnd: ({ host }) => inFlight.end(host),
  };
}
