import { z } from 'zod';
import { ZONES } from '../../core/zone.ts';
import { healthSection } from './health.ts';
import { duration, headerName, headerValue, name, size, text } from './scalar.ts';

/** What a deployment takes: so many at once, so much a second, and who may wait. */
const limitFields = {
  concurrency: z.int().min(1).max(1_000_000).optional().describe('Requests at once, over all workers. Default: no limit.'),
  per_instance: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('In place of `concurrency`: requests at once for each endpoint that is well, by its probes.'),
  safety: z.number().gt(0).max(1).optional().describe('The part of `per_instance` × endpoints that is used. Default: 0.7.'),
  tokens_per_second: z
    .number()
    .min(1)
    .max(1e9)
    .optional()
    .describe('Tokens a second, prompt and answer, of all replicas together: by estimate when a request is sent, corrected by what it used. Default: no limit.'),
  requests_per_second: z.number().min(0.01).max(1e6).optional().describe('Requests a second, of all replicas together. Default: no limit.'),
  burst: duration({ min: 10, max: 60_000 }).optional().describe('How much of both rates may come at once, as the time in which they allow it. Default: 1s.'),
  queue: z
    .strictObject({
      size: z.int().min(0).max(1_000_000).optional().describe('Requests that may wait for room, over all workers. Deployments of a model that share its requests wait in one queue, as long as theirs together. Default: 0.'),
      bytes: size({ min: 1024, max: 64 * 1024 ** 3 }).optional().describe('Bodies that may wait, together. Default: 64MiB.'),
      timeout: duration({ min: 0, max: 60_000 }).optional().describe('The longest wait. Default: 2s.'),
    })
    .optional(),
  text: z.string().min(1).max(500).optional().describe('What a client reads when the queue is full or the wait too long.'),
};

export const deploymentLimits = z.strictObject(limitFields);

const credential = z.strictObject({
  header: headerName().meta({ examples: ['authorization', 'x-api-key'] }),
  value: headerValue().describe('With the secret as a reference: "Bearer ${env:VLLM_KEY}".'),
});

/** The endpoints of a backend, in its section or in a file of their own. */
export const endpointList = z
  .array(
    z.strictObject({
      url: text().meta({ examples: ['http://10.0.0.5:8000', 'https://api.example.org/v1'] }).describe('http:// or https://, host, port and base path.'),
      weight: z.int().min(1).max(128).default(1).describe('Share of the requests among the endpoints. Default: 1.'),
      zone: name().optional().describe('The availability zone where it stands (`backends[].zone` is another thing: what a backend is for). Tries of one request go to different zones where they can. Default: not said.').meta({ examples: ['eu-1a'] }),
      failure_domain: name()
        .optional()
        .describe('What fails together with it, where that is not the zone: a rack, a host. Only in a pool. Default: the zone, else the endpoint alone.')
        .meta({ examples: ['rack-7'] }),
    }),
  )
  .min(1, 'needs at least one endpoint');

const backend = z.strictObject({
  name: name().describe("Also the name of Envoy's cluster."),
  zone: z
    .enum(ZONES)
    .default('hot')
    .describe('What it is for. hot: requests that somebody waits for; batch: work that may wait; gray: only what is led there on purpose. Default: hot.'),
  dialect: text().default('openai').describe('Wire protocol of the backend. Default: openai.').meta({ examples: ['openai', 'vllm-generate', 'anthropic'] }),
  endpoints: endpointList.default([]).describe('Addresses of the same service. All have the same scheme and base path. Needed unless endpoints_file is given.'),
  endpoints_file: text()
    .optional()
    .describe('Instead of endpoints: a YAML or JSON file with such a list, alone or under `endpoints`. Read again when it changes. Default: none.')
    .meta({ examples: ['endpoints/gpu.yaml'] }),
  pool: z
    .strictObject({
      slow_start: duration({ min: 0, max: 900_000 }).prefault('30s').describe('How long a new endpoint takes to get its whole share where Envoy chooses for itself. Default: 30s.'),
    })
    .optional()
    .describe('The gateway picks among the endpoints, by what it knows of each; they need IP addresses. Default: Envoy chooses, by least requests.'),
  http2: z.boolean().default(false).describe('Speak HTTP/2 to the endpoints. Default: false.'),
  health: healthSection.optional(),
  loads: z
    .strictObject({
      most: z.int().min(1).max(100_000).optional().describe('Models, or adapters, that an endpoint has loaded at once. Default: not known.'),
      keep: duration({ min: 1000, max: 24 * 3_600_000 })
        .prefault('5m')
        .describe('A model that nobody asked for so long is taken to be unloaded. Default: 5m.'),
    })
    .prefault({})
    .describe('For models with `affinity: model`: what this backend loads when asked, and unloads again.'),
  credentials: z
    .union([credential, z.array(credential)])
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .default([])
    .describe('Headers with secrets, set on each request to this backend and to no other.'),
  headers: z.record(headerName(), headerValue()).default({}).describe('Further headers for this backend.'),
  options: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Options of the dialect.'),
  limits: z
    .strictObject(limitFields)
    .optional()
    .describe('For each model on this backend; a deployment may have its own.'),
  allow_link_local: z
    .boolean()
    .default(false)
    .describe('Allow an endpoint, or an address for metrics, in a link-local network or at a metadata service. Default: false.'),
});

export const backendsSection = z.array(backend).min(1, 'needs at least one backend').describe('Where model servers are.');
