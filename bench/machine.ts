import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { findEnvoy } from '../src/app/envoy-process.ts';
import { findProgram } from '../src/app/find-program.ts';
import type { Results } from './report/results.ts';

/** Where the bench ran, as far as figures depend on it. */
export function machine(): Results['machine'] {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    // With what the bench itself runs; much above the cores, other work was going on.
    load_average_15_min: Number((loadavg()[2] ?? 0).toFixed(1)),
    system: `${type()} ${release().split('-', 1)[0] ?? ''}`,
  };
}

/** What it ran on. */
export function versions(): Results['versions'] {
  const redis = findProgram('redis-server', ['TOKENLAT_REDIS_BIN'], process.env);
  return {
    tokenlat: packageVersion('.'),
    node: process.versions.node,
    envoy: read(findEnvoy(), /\/(\d+\.\d+\.\d+)/),
    redis: read(redis, /v=(\d+\.\d+\.\d+)/),
    'grpc-js': packageVersion('node_modules/@grpc/grpc-js'),
  };
}

function read(command: string | null, pattern: RegExp): string {
  if (command === null) return 'none';
  return pattern.exec(execFileSync(command, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
}

function packageVersion(folder: string): string {
  const file = join(import.meta.dirname, '..', folder, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
