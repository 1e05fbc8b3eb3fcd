import fs from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../core/ports/clock.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Admin } from '../core/admin-settings.ts';
import { isLoopback } from '../lib/address/address.ts';
import type { AdminAccess, Identify } from './access/authenticate.ts';
import type { AdminDeps } from './admin-deps.ts';
import { createApp } from './http/fastify-app.ts';
import { createGuard } from './http/guard.ts';
import { readRouteTable } from './route-table.ts';

export interface AdminServerOptions extends Omit<AdminDeps, 'time' | 'dayStart' | 'channels'> {
  /** Where it listens. Port 0 = any that is free. Taken at `start`; paths of PEM files are read then. */
  readonly listen: Pick<Admin, 'address' | 'port' | 'tls'>;
  /** Who may come in, asked at each request, so that a reload counts at once; null = nobody any more. */
  readonly access: () => AdminAccess | null;
  /** Whom a JWT names; null = only admin tokens come in. */
  readonly identify: Identify | null;
  readonly channels?: AdminDeps['channels'];
  readonly dayStart?: AdminDeps['dayStart'];
  readonly clock?: Clock;
  /** Bad tries a minute of one source or token. Default: 20. */
  readonly badTries?: number;
  /** Requests a minute of one caller. Default: 600. */
  readonly requestsPerMinute?: number;
  /** How long one request may take. Default: 10 s. */
  readonly timeoutMs?: number;
  readonly maxConnections?: number;
}

export interface AdminServer {
  /** Rejects when the address cannot be had, and when it is a public one without TLS. */
  readonly start: () => Promise<void>;
  /** Ends after the requests that run now. */
  readonly close: () => Promise<void>;
  /** Where it listens; null before `start` and after `close`. */
  readonly address: () => { readonly address: string; readonly port: number } | null;
}

const dayInUtc = (date: string): number => Date.parse(`${date}T00:00:00Z`);

/** The admin API on a listener of its own. It makes nothing itself: stores, readers and identity come from outside. */
export function createAdminServer(options: AdminServerOptions): AdminServer {
  let app: FastifyInstance | null = null;
  return {
    start: async () => {
      const { address, port, tls } = options.listen;
      if (tls === null && !isLoopback(address))
        throw new Error(`the admin API on ${address} could be reached from other machines: it needs TLS`);
      const opened = createAdminApp(options);
      await opened.listen({ host: address, port });
      app = opened;
    },
    close: async () => {
      const open = app;
      app = null;
      await open?.close();
    },
    address: () => {
      const bound = app?.server.address() as AddressInfo | null | undefined;
      return bound === null || bound === undefined ? null : { address: bound.address, port: bound.port };
    },
  };
}

/** The same without a listener, for `inject`. */
export function createAdminApp(options: AdminServerOptions): FastifyInstance {
  const { clock = systemClock, dayStart = dayInUtc, channels = null, badTries = 20, requestsPerMinute = 600 } = options;
  const { tls } = options.listen;
  const time = (): number => clock.time();
  return createApp({
    routes: readRouteTable(),
    deps: { ...options, channels, dayStart, time },
    guard: createGuard({
      access: options.access,
      identify: options.identify,
      time,
      now: () => clock.now(),
      badTries,
      requests: requestsPerMinute,
    }),
    tls:
      tls === null
        ? null
        : { cert: read(tls.cert), key: read(tls.key), clientCa: tls.clientCa === null ? null : read(tls.clientCa) },
    timeoutMs: options.timeoutMs ?? 10_000,
    maxConnections: options.maxConnections ?? 128,
  });
}

const read = (path: string): string => fs.readFileSync(path, 'utf8');
