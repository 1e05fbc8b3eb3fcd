import { z } from 'zod';
import { duration, port, text } from './scalar.ts';

export const serverSection = z
  .strictObject({
    workers: z.int().min(1).max(128).default(1).describe('Processes that serve Envoy. About one a core. Default: 1.'),
    transport: z
      .enum(['unix', 'tcp'])
      .default('unix')
      .describe('How Envoy reaches the workers: one unix socket or one TCP port a worker. Default: unix.'),
    grpc: z
      .enum(['lean', 'grpc-js'])
      .default('lean')
      .describe(
        'Who speaks gRPC to Envoy: a server of our own that costs less processor time, or grpc-js. Both serve the same. Default: lean.',
      ),
    socket_dir: text()
      .optional()
      .describe(
        'Folder of the unix sockets. Whoever may connect to them is trusted. Default: /run/tokenlat, or with `tokenlat up` its state folder.',
      ),
    tcp: z
      .strictObject({
        address: text().default('127.0.0.1').describe('Address of the workers. Default: 127.0.0.1.'),
        port: port().default(9100).describe('Port of the first worker; each further one takes the next. Default: 9100.'),
        mtls: z
          .strictObject({ cert: text(), key: text(), ca: text() })
          .optional()
          .describe('Mutual TLS between Envoy and the workers: PEM files. Required when the address is not a loopback one.'),
      })
      .prefault({})
      .describe('Used with `transport: tcp`.'),
    ops: z
      .strictObject({
        address: text().default('127.0.0.1').describe('Default: 127.0.0.1.'),
        port: port().default(9902).describe('Default: 9902.'),
      })
      .prefault({})
      .describe('Plain HTTP for /healthz, /readyz and /metrics. It has no authentication.'),
    drain: duration({ min: 100, max: 3_600_000 })
      .prefault('30s')
      .describe('How long requests may go on after a stop signal. Default: 30s.'),
    message_timeout: duration({ min: 100, max: 60_000 })
      .prefault('5s')
      .describe("Envoy's patience for one answer of a worker. Every wait of ours must be at least 30 ms shorter. Default: 5s."),
  })
  .describe('The processes behind Envoy.');
