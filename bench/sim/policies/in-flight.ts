/** Attempts that were started and have not ended, counted at the pick. */
export interface InFlight {
  readonly of: (host: number) => number;
  readonly mean: () => number;
  readonly start: (host: number) => void;
  readonly end: (host: number) => void;
}

export function createInFlight(hosts: number): InFlight {
  const counts = Array.from({ length: hosts }, () => 0);
  let total = 0;
  const add = (host: number, by: number): void => {
    counts[host] = (counts[host] ?? 0) + by;
    total += by;
  };
  return {
    of: (host) => counts[host] ?? 0,
    mean: () => total / hosts,
    start: (host) => add(host, 1),
    end: (host) => add(host, -1),
  };
}
