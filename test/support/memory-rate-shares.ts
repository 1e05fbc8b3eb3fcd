import type { Clock } from '../../src/core/ports/clock.ts';
import {
  RATE_SHARE_TIMES,
  type RateShareStore,
  type RateShareTimes,
  type RateWish,
} from '../../src/core/ports/rate-shares.ts';
import { fromMillis, toMillis } from '../../src/store/rate-units.ts';

interface Member {
  readonly reserved: number;
  readonly demand: number;
  readonly till: number;
}

interface Table {
  readonly since: number;
  seen: number;
  readonly members: Map<string, Member>;
}

/** `RateShareStore` in this process, by the same arithmetic as the script of Redis. */
export function createMemoryRateShares({
  clock,
  times: { keepMs, settleMs } = RATE_SHARE_TIMES,
}: {
  readonly clock: Pick<Clock, 'time'>;
  readonly times?: RateShareTimes;
}): RateShareStore & { readonly lose: () => void } {
  const tables = new Map<string, Table>();

  function renew(holder: string, wish: RateWish, now: number): number {
    const [rate, demand, held] = [toMillis(wish.rate), toMillis(wish.demand), toMillis(wish.held)];
    const table = tables.get(wish.name) ?? { since: now, seen: now, members: new Map<string, Member>() };
    tables.set(wish.name, table);
    const { members } = table;
    const gap = now - table.seen > keepMs / 2 ? now - table.seen : 0;
    const demands = [demand];
    let others = 0;
    for (const [name, member] of members) {
      if (name === holder) continue;
      const till = member.till + gap;
      if (till <= now) members.delete(name);
      else {
        others += member.reserved;
        demands.push(member.demand);
        members.set(name, { ...member, till });
      }
    }
    const { level, over } = levelOf(rate, demands);
    const fair = Math.min(demand, level) + Math.floor(over / 2 / demands.length);
    const wanted = now < table.since + settleMs ? held : fair;
    const share = Math.max(0, Math.min(wanted, rate - others));
    table.seen = now;
    members.set(holder, { reserved: Math.max(share, held), demand, till: now + keepMs });
    return fromMillis(share);
  }

  return {
    renew: async (holder, wishes) => wishes.map((wish) => renew(holder, wish, clock.time())),
    leave: async (holder, names) => {
      for (const name of names) tables.get(name)?.members.delete(holder);
    },
    lose: () => tables.clear(),
  };
}

/** The most that anybody may have where demands are more than there is, and what is left over where they are not. */
function levelOf(rate: number, demands: readonly number[]): { readonly level: number; readonly over: number } {
  let left = rate;
  for (const [at, demand] of demands.toSorted((a, b) => a - b).entries()) {
    const fair = Math.floor(left / (demands.length - at));
    if (demand > fair) return { level: fair, over: 0 };
    left -= demand;
  }
  return { level: Infinity, over: left };
}
