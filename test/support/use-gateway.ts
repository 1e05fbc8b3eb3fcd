import { after } from 'node:test';
import { type ConfigPart, type GatewayOptions, startGateway, type TestGateway } from './gateway.ts';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';

/** As many as any test needs; one that is not asked costs nothing. */
export type Upstreams = readonly [MockUpstream, MockUpstream, MockUpstream];

export interface UseGatewayOptions extends Omit<GatewayOptions, 'config'> {
  readonly config: (upstreams: Upstreams) => ConfigPart;
  /** Servers that the configuration names beside the mocks: closed after the gateway. */
  readonly servers?: readonly { close(): unknown }[];
  /** Before the gateway stops. */
  readonly atEnd?: (gateway: TestGateway) => unknown;
}

/**
 * The gateway of a test file, with upstreams that answer as they are told. Call it once, at the top of the file: after all
 * tests it stops, and what must hold after any run is asserted; whatever fails, everything is closed.
 */
export async function useGateway({ config, servers = [], atEnd = () => {}, ...options }: UseGatewayOptions): Promise<{
  readonly gateway: TestGateway;
  readonly upstream: MockUpstream;
  readonly upstreams: Upstreams;
}> {
  const upstreams = await Promise.all([startMockUpstream(), startMockUpstream(), startMockUpstream()]);
  const close = async (): Promise<void> => {
    for (const server of [...upstreams, ...servers]) await server.close();
  };
  const gateway = await startGateway({ ...options, config: config(upstreams) }).catch(async (reason: unknown) => {
    await close();
    throw reason;
  });
  after(async () => {
    try {
      try {
        await atEnd(gateway);
      } finally {
        await gateway.stop();
      }
    } finally {
      await close();
    }
  });
  return { gateway, upstream: upstreams[0], upstreams };
}
