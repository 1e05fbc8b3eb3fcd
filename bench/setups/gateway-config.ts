/** What a gateway of the bench is to do. */
export interface GatewayShape {
  readonly workers: number;
  /** A CEL route, the word filter, prices, limits and a log line a request; or none of these. */
  readonly everything: boolean;
  /** With everything on: no limit, those of most deployments, or each one that there is at every level. */
  readonly limits?: 'none' | 'some' | 'all';
  /** Who speaks gRPC. Default: lean. */
  readonly grpc?: 'lean' | 'grpc-js';
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
} as const;

/** The configuration as a file's text. */
export function gatewayConfig(
  { workers, everything, limits = 'some', grpc = 'lean' }: GatewayShape,
  places: GatewayPlaces,
): string {
  const price = '{ currency: USD, prompt_per_mtok: 0.50, cached_per_mtok: 0.05, completion_per_mtok: 1.50 }';
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
  - name: bench-backend
    dialect: openai
    endpoints: [ { url: "http://127.0.0.1:${places.model}/v1" } ]
    credentials: { header: authorization, value: "Bearer key-of-the-bench-backend" }
    ${everything ? 'limits: { concurrency: 4096, queue: { size: 4096, timeout: 2s } }' : ''}
models:
  - name: bench-chat
    deployments:
      - backend: bench-backend
        model: bench-model
        ${everything ? `price: ${price}` : ''}
        profile: { context: 1000000 }
${everything ? everythingWith(LIMITS[limits]) : 'telemetry: { log_level: error }\n'}`;
}

/** Patient: on a machine that is busy with other things a slow answer must not count as a store that is gone. */
function redisPart(url: string): string {
  return `redis: { url: ${JSON.stringify(url)}, command_timeout: 2s }\n`;
}

const everythingWith = (limits: string): string => `tenants:
  - name: bench-team
    tier: premium
${limits}routes:
  - name: night
    models: [ bench-chat ]
    match: "tenant.tier == 'basic' && request.type == 'chat'"
    candidates: [ { model: bench-chat } ]
  - name: day
    models: [ bench-chat ]
    match: "tenant.tier == 'premium' && request.type == 'chat'"
    candidates: [ { model: bench-chat } ]
filter:
  terms: [ ${Array.from({ length: 40 }, (_, index) => `"forbidden word ${index}"`).join(', ')} ]
telemetry: { log_level: info }
`;
