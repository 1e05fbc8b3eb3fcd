/** No limit, those of most deployments, or each one that there is at every level. */
export type LimitsOn = 'none' | 'some' | 'all';

/** What a gateway of the bench is to do. */
export interface GatewayShape {
  readonly workers: number;
  /** The gRPC server of our own where nothing is said. */
  readonly grpc?: 'lean' | 'grpc-js';
  /** CEL routes with a score, the word filter, prices, limits, audit and a log line a request; or none of these. */
  readonly everything: boolean;
  /** With everything on; some where nothing is said. */
  readonly limits?: LimitsOn;
  /** With everything on: so many tenants `tenant-0` and on, beside the one of most workloads. */
  readonly tenants?: number;
  /** With everything on: a second backend to choose from, and to go to when the first one fails. */
  readonly spare?: boolean;
  /** Envoy sends its gRPC access log of every request, not only of those that broke. */
  readonly logged?: boolean;
  /** With everything on: so many routes for other models before the one that is taken. */
  readonly routes?: number;
}

/** Where a gateway of the bench listens. */
export interface GatewayPlaces {
  readonly listen: number;
  readonly admin: number;
  readonly ops: number;
  readonly model: number;
  readonly socketDir: string;
  /** Null keeps everything in memory. */
  readonly redis: string | null;
}

export const BENCH_SECRET = 'a-shared-secret-of-the-bench-0123456789abcdef';

/** Limits that are checked on every request and never reached. */
const SOME = '{ requests_per_minute: 100000000, tokens_per_minute: 100000000000, tokens_per_day: 1000000000000 }';
const ALL = `{ ${['requests', 'tokens', 'spend']
  .flatMap((unit) => ['minute', 'day', 'month'].map((span) => `${unit}_per_${span}: 1000000000`))
  .join(', ')}, concurrent_requests: 1000000000 }`;

/** At every level that a configuration knows. */
const LIMITS = {
  none: '',
  some: `    limits: ${SOME}
    subject_limits: { requests_per_minute: 100000000 }
`,
  all: `    limits: ${ALL}
    subject_limits: ${ALL}
    line_limits: { default: ${ALL} }
    model_limits: { bench-chat: ${ALL} }
`,
} as const satisfies Readonly<Record<LimitsOn, string>>;

/** The configuration as a file's text. */
export function gatewayConfig(shape: GatewayShape, places: GatewayPlaces): string {
  const { workers, everything, spare = false, grpc = 'lean' } = shape;
  return `version: 1
listen: { address: 127.0.0.1, port: ${places.listen}, admin_port: ${places.admin} }
server:
  workers: ${workers}
  grpc: ${grpc}
  socket_dir: ${JSON.stringify(places.socketDir)}
  ops: { address: 127.0.0.1, port: ${places.ops} }
${places.redis === null ? '' : redisPart(places.redis)}auth:
  issuers:
    - { issuer: bench, algorithms: [HS256], secret: "${BENCH_SECRET}" }
backends:
${backend('bench-backend', places.model, everything)}${spare ? backend('bench-spare', places.model, true) : ''}models:
${model('bench-chat', 'bench-backend', everything)}${model('bench-embed', 'bench-backend', everything)}${
    spare ? model('bench-spare', 'bench-spare', true) : ''
  }${everything ? everythingWith(shape, places) : QUIET}`;
}

const QUIET = 'telemetry: { log_level: error }\n';

/** Patient: on a machine that is busy with other things a slow answer must not count as a store that is gone. */
function redisPart(url: string): string {
  return `redis: { url: ${JSON.stringify(url)}, command_timeout: 2s }\n`;
}

function backend(name: string, port: number, everything: boolean): string {
  return `  - name: ${name}
    dialect: openai
    endpoints: [ { url: "http://127.0.0.1:${port}/v1" } ]
    credentials: { header: authorization, value: "Bearer key-of-the-bench-backend" }
    ${everything ? 'limits: { concurrency: 4096, queue: { size: 4096, timeout: 2s } }' : ''}
`;
}

function model(name: string, backend: string, everything: boolean): string {
  const price = '{ currency: USD, prompt_per_mtok: 0.50, cached_per_mtok: 0.05, completion_per_mtok: 1.50 }';
  return `  - name: ${name}
    deployments:
      - backend: ${backend}
        model: bench-model
        ${everything ? `price: ${price}` : ''}
        profile: { context: 1000000 }
`;
}

const everythingWith = (
  { limits = 'some', tenants = 0, routes = 0, spare = false }: GatewayShape,
  places: GatewayPlaces,
): string =>
  `tenants:
${['bench-team', ...numbered('tenant', tenants)].map((name) => tenant(name, limits)).join('')}routes:
${numbered('other', routes)
  .map((name) => `  - { name: ${name}, models: [ ${name} ], candidates: [ { model: bench-chat } ] }\n`)
  .join('')}  - name: night
    models: [ bench-chat ]
    match: "tenant.tier == 'basic' && request.type == 'chat'"
    candidates: [ { model: bench-chat } ]
  - name: day
    models: [ bench-chat ]
    match: "tenant.tier == 'premium' && request.type == 'chat'"
    candidates: [ { model: bench-chat }${spare ? ', { model: bench-spare }' : ''} ]
    weights: { cost: 1, latency: 1 }
    score: { rules: [ { when: "target.model == 'bench-spare' && request.type == 'chat'", multiply: 0.5 } ] }
filter:
  terms: [ ${Array.from({ length: 40 }, (_, at) => `"forbidden word ${at}"`).join(', ')} ]
audit:
  dir: ${JSON.stringify(`${places.socketDir}/audit`)}
  key_file: ${JSON.stringify(`${places.socketDir}/audit.key`)}
  checkpoint: { dir: ${JSON.stringify(`${places.socketDir}/checkpoints`)} }
telemetry: { log_level: info }
`;

function tenant(name: string, limits: LimitsOn): string {
  return `  - name: ${name}\n    tier: premium\n${LIMITS[limits]}`;
}

function numbered(word: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${word}-${at}`);
}
