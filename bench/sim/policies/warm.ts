import { createModelShelf } from '../engine/model-shelf.ts';
import type { PolicySpec } from '../engine/policy.ts';
import { createInFlight } from './in-flight.ts';
import { leastOf } from './least.ts';

const GATE_TIMES = 1.5;
const GATE_MORE = 2;

/** The least loaded host that holds the model, among those not loaded much above the mean; then the least loaded. */
export const gatedWarm: PolicySpec = {
  name: 'gated warm',
  create: ({ hosts, random }) => {
    const inFlight = createInFlight(hosts.length);
    const shelves = hosts.map(({ modelRoom }) => createModelShelf({ room: modelRoom, loadMs: 0 }));
    return {
      pick: ({ model }, tried, now) => {
        const cost = (host: number): number => {
          const own = inFlight.of(host);
          const isCrowded = own > GATE_TIMES * inFlight.mean() + GATE_MORE;
          return own + (isCrowded ? 2e6 : 0) + (model !== null && shelves[host]?.has(model) === true ? 0 : 1e6);
        };
        const host = leastOf(hosts.length, cost, { random, except: tried });
        inFlight.start(host);
        if (model !== null) shelves[host]?.use(model, now);
        return host;
      },
      onEnd: ({ host }) => inFlight.end(host),
    };
  },
};
