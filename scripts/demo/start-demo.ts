import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from '../../src/app/load.ts';
import { up } from '../../src/app/up.ts';
import { developmentToken } from '../../src/cli/commands/token.ts';
import type { RequestTrace } from '../../src/core/ports/trace-store.ts';
import { openReading } from '../../src/app/open-reading.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { demoConfig } from './demo-config.ts';
import { startDemoOpenAi } from './model-servers/demo-openai-server.ts';
import { startDemoVllm } from './model-servers/demo-vllm-server.ts';
import { freePorts } from './free-ports.ts';

/** A running demo. */
export interface Demo {
  readonly url: string;
  readonly ops: string;
  /** May use every model but `demo-secret`. */
  readonly token: string;
  trace(requestId: string): Promise<RequestTrace | null>;
  /** Stops everything; gives how many reservations were still open. */
  stop(): Promise<number>;
}

const MODELS = 'demo-chat,demo-llama,demo-resilient';

/** How to start a demo. */
export interface DemoOptions {
  /** Gets a line a step. */
  readonly say: (line: string) => void;
  /** The port to serve on where it is free; else, and when left out, any free one. */
  readonly port?: number;
}

/** Starts the demo servers, Redis, TokenLat and Envoy on free ports. */
export async function startDemo({ say, port }: DemoOptions): Promise<Demo> {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-demo-'));
  const [listen = 0, admin = 0, ops = 0, nobody = 0] = await freePorts(4, port);
  const openai = await startDemoOpenAi({ port: 0 });
  const vllm = await startDemoVllm({ port: 0 });
  say(`demo model servers: OpenAI dialect on port ${openai.port}, vLLM /generate dialect on port ${vllm.port}`);
  const secret = join(dir, 'secret.key');
  writeFileSync(secret, randomBytes(32).toString('hex'), { mode: 0o600 });
  mkdirSync(join(dir, 's'));
  const path = join(dir, 'tokenlat.yaml');
  const ports = { listen, admin, ops, openai: openai.port, vllm: vllm.port, nobody };
  writeFileSync(path, demoConfig(ports, secret, join(dir, 's')));
  const { snapshot } = load(path);
  const log = createLog({ level: 'info', destination: join(dir, 'tokenlat.log') });
  say('starting Redis, the TokenLat server and Envoy');
  const running = await up({ path, stateDir: dir, log, onFatal: (reason) => fatal(reason) });
  const reading = await openReading(path, dir);
  return {
    url: running.url,
    ops: `http://127.0.0.1:${ops}`,
    token: developmentToken(snapshot, {
      subject: 'demo-user',
      tenant: 'demo-team',
      models: MODELS,
      quotaDaily: '1000000',
      ttl: '8h',
    }),
    async trace(requestId) {
      let found: RequestTrace | undefined;
      await waitUntil(
        async () => {
          [found] = await reading.traces.get(requestId);
          return found !== undefined;
        },
        { timeoutMs: 2000 },
      );
      return found ?? null;
    },
    async stop() {
      await waitUntil(async () => (await reading.ledger.open()) === 0, { timeoutMs: 3000 });
      const left = await reading.ledger.open();
      await reading.close();
      await running.stop();
      await Promise.all([openai.close(), vllm.close()]);
      rmSync(dir, { recursive: true, force: true });
      return left;
    },
  };
}

function fatal(reason: string): never {
  process.stderr.write(`demo: ${reason}\n`);
  process.exit(1);
}
