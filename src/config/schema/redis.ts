import { z } from 'zod';
import { duration, text } from './scalar.ts';

const node = () =>
  z
    .string()
    .regex(/^(?:\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):\d{1,5}$/, 'must be host:port')
    .transform((pair) => ({
      host: pair.slice(0, pair.lastIndexOf(':')).replaceAll(/[[\]]/g, ''),
      port: Number(pair.slice(pair.lastIndexOf(':') + 1)),
    }));

export const redisSection = z
  .strictObject({
    url: text()
      .meta({ examples: ['redis://127.0.0.1:6379', 'rediss://:${env:REDIS_PASSWORD}@redis.example.org:6380/0'] })
      .describe('redis:// or rediss:// (TLS), with user, password and database where needed; or unix:///path/of/the/socket.'),
    sentinel: z
      .strictObject({ name: text().describe('Name of the master.'), nodes: z.array(node()).min(1) })
      .optional()
      .describe('Find the master through Sentinel. The URL then gives the credentials and the database.'),
    cluster: z.array(node()).min(1).optional().describe('First nodes of a Redis Cluster. The URL then gives the credentials.'),
    command_timeout: duration({ min: 5, max: 10_000 })
      .prefault('200ms')
      .describe('The longest that one command may take before the store counts as gone. Default: 200ms.'),
    key_prefix: z
      .string()
      .regex(/^[A-Za-z0-9:_-]{0,32}$/, 'must be up to 32 letters, digits, ":", "_" or "-"')
      .default('tl:')
      .describe('Begins every key. Default: "tl:".'),
  })
  .describe('Where quota, ledger and traces live. Without it they live in memory and are lost with the process.');
