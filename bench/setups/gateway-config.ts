/** What a gateway of the bench is to do. */
export interface GatewayShape {
  readonly workers: number;
  /** Limits, quota, a CEL route, the word filter, prices and a log line a request; or none of these. */
  readonly everything: boolean;
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
const LIMITS = '{ requests_per_minute: 100000000, tokens_per_minute: 100000000000, tokens_per_day: 1000000000000 }';

/** The configuration as a file's text. */
export function gatewayConfig({ workers, everything }: GatewayShape, places: GatewayPlaces): string {
  const price = '{ currency: USD, prompt_per_mtok: 0.50, cached_per_mtok: 0.05, completion_per_mtok: 1.50 }';
  return `version: 1
listen: { address: 127.0.0.1, port: ${places.listen}, admin_port: ${places.admin} }
server:
  workers: ${workers}
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
${everything ? EVERYTHING : 'telemetry: { log_level: error }\n'}`;
}

/** Patient: on a machine that is busy with other things a slow answer must not count as a store that is gone. */
function redisPart(url: string): string {
  return `redis: { url: ${JSON.stringify(url)}, command_timeout: 2s }\n`;
}

const EVERYTHING = `tenants:
  - name: bench-team
    tier: premium
    limits: ${LIMITS}
    subject_limits: { requests_per_minute: 100000000 }
routes:
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
