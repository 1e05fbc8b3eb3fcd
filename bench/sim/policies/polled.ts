import type { PolicySpec } from '../engine/policy.ts';
import type { HostLoad } from '../engine/request.ts';
import { leastOf } from './least.ts';

const EMPTY: HostLoad = { running: 0, waiting: 0 };

/** The host with the best score by its metrics page, which is read every so often. */
export function polled(everyMs: number): PolicySpec {
  const period = everyMs >= 1000 ? `${everyMs / 1000} s` : `${everyMs} ms`;
  return {
    name: `polled ${period}`,
    create: ({ hosts, random }) => {
      let seen: readonly HostLoad[] = hosts.map(() => EMPTY);
      return {
        pick: (_request, tried) =>
          leastOf(
            hosts.length,
            (host) => {
              const { running, waiting } = seen[host] ?? EMPTY;
              return running + waiting;
            },
            { random, except: tried },
          ),
        ticks: {
          everyMs,
          tick: () => {
            seen = hosts.map((host) => host.load());
          },
        },
      };
    },
  };
}
