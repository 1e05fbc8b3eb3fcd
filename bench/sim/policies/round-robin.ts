import type { PolicySpec } from '../engine/policy.ts';

export const roundRobin: PolicySpec = {
  name: 'round robin',
  create: ({ hosts }) => {
    let next = 0;
    return {
      pick: (_request, tried) => {
        for (let step = 0; step < hosts.length; step += 1) {
          const host = next;
          next = (next + 1) % hosts.length;
          if (!tried.includes(host)) return host;
        }
        return next;
      },
    };
  },
};
