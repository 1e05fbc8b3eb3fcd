import { z } from 'zod';
import { onStoreError } from './route.ts';
import { duration, text } from './scalar.ts';

const HOUR = 3_600_000;
const MOST_EVENTS = 100_000_000;

const identifier = () =>
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be 1 to 64 letters, digits or "_", and not begin with a digit');

const sink = z
  .strictObject({
    kind: z.literal('clickhouse', 'must be clickhouse').describe('What takes the events: clickhouse.'),
    url: text()
      .describe('Its HTTP interface, http:// or https://, without user and password.')
      .meta({ examples: ['https://clickhouse.example.org:8443'] }),
    database: identifier().default('default').describe('Default: default.'),
    table: identifier().default('tokenlat_ledger').describe('Ask the view <table>_once: it has each booking once. Default: tokenlat_ledger.'),
    user: text().optional().describe('Default: none, which ClickHouse takes for its user default.'),
    password: z.string().max(4096).optional().describe('As a reference: "${env:CLICKHOUSE_PASSWORD}" or "${file:…}".'),
    create_table: z.boolean().default(true).describe('Make the table and the view where they are not there. Default: true.'),
    engine: z
      .enum(['ReplacingMergeTree', 'ReplicatedReplacingMergeTree', 'SharedReplacingMergeTree'])
      .default('ReplacingMergeTree')
      .describe('Of a new table: Replicated… on clusters of your own, Shared… on ClickHouse Cloud. Default: ReplacingMergeTree.'),
    ttl_days: z.int().min(1).max(3650).optional().describe('Rows of a new table go this many days after their request. Default: never.'),
    ca: text().optional().describe("PEM file of the authority that signed the server's certificate. Default: those of the system."),
    batch: z.int().min(1).max(50_000).default(5000).describe('Events of one insert; so many are held in memory. Default: 5000.'),
    interval: duration({ min: 100, max: HOUR }).prefault('5s').describe('Pause after everything is sent. Default: 5s.'),
    timeout: duration({ min: 100, max: 600_000 }).prefault('30s').describe('For one insert. Default: 30s.'),
    keep_unsent: z
      .int()
      .min(100)
      .max(MOST_EVENTS)
      .default(1_000_000)
      .describe(
        'Events kept in Redis for each tenant, at the most, while the sink does not take them; beyond it the oldest go unsent. At least ledger.max_events. Default: 1000000.',
      ),
    allow_link_local: z
      .boolean()
      .default(false)
      .describe('Allow an address in a link-local network or of a metadata service. Default: false.'),
  })
  .describe('Carries every event of the ledger into an engine beyond this gateway.');

export const ledgerSection = z
  .strictObject({
    lease: duration({ min: 1000, max: HOUR })
      .prefault('1m')
      .describe('A reservation that nobody settles ends after this long without a sign of life. Default: 1m.'),
    on_crash: z.enum(['charge', 'release']).default('charge').describe('What such a reservation costs: its estimate, or nothing. Default: charge.'),
    max_events: z
      .int()
      .min(100)
      .max(MOST_EVENTS)
      .default(100_000)
      .describe('Events kept for each tenant, about; with a sink only what was sent is dropped. Default: 100000.'),
    keep: duration({ min: 60_000, max: 90 * 24 * HOUR })
      .prefault('1d')
      .describe('How long settled operations and traces are remembered. Default: 1d.'),
    on_store_error: onStoreError(),
    on_state_lost: z
      .enum(['auto', 'deny', 'continue'])
      .default('auto')
      .describe('What becomes of requests when Redis has lost what it held. deny: refused until an operator rebuilt it or accepted the loss; continue: served; auto: refused where Redis keeps a file, served where it keeps nothing, so that every restart of it is a loss. Default: auto.'),
    zone: text().default('UTC').describe('IANA time zone whose days and months limits, budgets and reports go by. Default: UTC.').meta({ examples: ['Europe/Berlin'] }),
    sink: sink.optional(),
  })
  .describe('Where costs are booked.');
