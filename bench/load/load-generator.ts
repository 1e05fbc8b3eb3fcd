import { join } from 'node:path';
import { rawRequests } from '../payload.ts';
import { type Program, startScript } from '../setups/child-process.ts';
import type { Setup } from '../setups/setup.ts';
import type { Workload } from '../workload.ts';
import type { LoadJob, LoadRequests, LoadResult } from './load-job.ts';

/** A process that sends requests and takes times, one job at a time. */
export class LoadGenerator {
  readonly #program: Program;
  readonly #known = new Set<string>();

  private constructor(program: Program) {
    this.#program = program;
  }

  static async start(dir: string): Promise<LoadGenerator> {
    const script = join(import.meta.dirname, '../load-main.ts');
    return new LoadGenerator(await startScript(script, [], join(dir, 'load.log')));
  }

  /** Hands over the requests of a workload; later runs need not. */
  async prepare(setup: Setup, { payload }: Pick<Workload, 'payload'>): Promise<string> {
    const key = `${setup.name} ${payload.name}`;
    if (this.#known.has(key)) return key;
    this.#known.add(key);
    const requests = rawRequests(payload, setup).map((bytes) => bytes.toString('base64'));
    const message: LoadRequests = { kind: 'requests', key, requests };
    await this.#program.ask(message);
    return key;
  }

  async run(
    setup: Setup,
    workload: Pick<Workload, 'payload' | 'connections' | 'rate'>,
    durationMs: number,
  ): Promise<LoadResult> {
    const { connections, rate, payload } = workload;
    const key = await this.prepare(setup, workload);
    const job: LoadJob = {
      kind: 'job',
      port: setup.port,
      key,
      connections,
      rate,
      durationMs,
      paceMs: payload.paceMs,
    };
    return (await this.#program.ask<{ result: LoadResult }>(job)).result;
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }
}
