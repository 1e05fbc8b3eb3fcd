/** `node bench/micro/warmth.ts`: what the keys of one request cost, in microseconds of this machine. */
import { micros } from './micros.ts';
import { HeaderList } from '../../src/core/http.ts';
import { type WarmthContext, warmthOf } from '../../src/stations/route/warmth.ts';

function contextOf(affinity: 'session' | 'prefix', length: number): WarmthContext {
  const texts = [
    { param: 'messages[0].content', role: 'system', text: 'You are a helper. '.repeat(20) },
    { param: 'messages[1].content', role: 'user', text: 'word '.repeat(length / 5) },
  ];
  return {
    config: { models: new Map([['m', { affinity }]]), aliases: new Map() },
    head: { headers: new HeaderList([]) },
    principal: { tenant: 'acme' },
    request: { endpoint: 'chat', model: 'm', texts },
  } as unknown as WarmthContext;
}

for (const affinity of ['session', 'prefix'] as const)
  for (const length of [1024, 8192, 65_536, 1_048_576]) {
    const ctx = contextOf(affinity, length);
    const cost = micros(
      () => {
        // A request of its own each time: keys are made once for each.
        const warmth = warmthOf({ ...ctx, request: { ...ctx.request } });
        warmth.warm('m');
        void warmth.home('m');
      },
      length > 100_000 ? 200 : 2000,
    );
    process.stdout.write(
      `${affinity.padEnd(8)} ${String(length / 1024).padStart(5)} KiB of text ${cost.toFixed(1).padStart(8)} µs\n`,
    );
  }
