import { type ConfigPart, startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import type { CasePlan } from './case-plan.ts';
import { keySetOf, type KeySetServer, startKeySetServer } from './case-tokens.ts';

/** Everything that a case talks to. */
export interface CaseGateway {
  readonly gateway: TestGateway;
  readonly backends: ReadonlyMap<string, MockUpstream>;
  readonly redis: RedisServer | null;
  readonly keySet: KeySetServer | null;
  /** Stops all of it. Throws when the gateway was not sound. */
  readonly close: () => Promise<void>;
}

/** Starts what a plan names. */
export async function openCaseGateway(plan: CasePlan): Promise<CaseGateway> {
  const stops: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const stop of stops.splice(0).toReversed()) {
      try {
        await stop();
      } catch (reason) {
        errors.push(reason);
      }
    }
    if (errors.length > 0) throw errors[0];
  };
  try {
    const backends = new Map<string, MockUpstream>();
    for (const name of plan.backends) {
      const mock = await startMockUpstream();
      stops.push(mock.close);
      backends.set(name, mock);
    }
    const redis = plan.ownRedis ? await startRedis() : null;
    if (redis !== null) stops.push(redis.stop);
    const keySet = plan.keys.length > 0 ? await startKeySetServer(plan.keys) : null;
    if (keySet !== null) stops.push(keySet.close);
    const addresses = new Map([...backends].map(([name, mock]): [string, string] => [`@${name}`, mock.url]));
    addresses.set('@redis', redis?.url ?? '').set('@jwks', keySet?.url ?? '');
    const gateway = await startGateway({
      config: filled(plan.config, addresses) as ConfigPart,
      workers: plan.workers,
      files: plan.keys.length > 0 ? { 'jwks.json': keySetOf(plan.keys) } : {},
    });
    stops.push(() => gateway.stop());
    return { gateway, backends, redis, keySet, close };
  } catch (reason) {
    await close().catch(() => undefined);
    throw reason;
  }
}

/** Puts real addresses where the plan has names. */
function filled(value: unknown, addresses: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return addresses.get(value) ?? value;
  if (Array.isArray(value)) return value.map((one) => filled(one, addresses));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, addresses)]));
}
