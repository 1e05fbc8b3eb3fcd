import { z } from 'zod';
import { duration, text } from './scalar.ts';

const interval = (usual: string, min = 500) => duration({ min, max: 3_600_000 }).prefault(usual).describe(`Between two looks, give or take a fifth. Default: ${usual}.`);
const timeout = (usual: string) => duration({ min: 50, max: 60_000 }).prefault(usual).describe(`Default: ${usual}.`);
const failures = (usual: number) => z.int().min(1).max(100).default(usual).describe(`In a row, and nothing goes there any more. Default: ${usual}.`);
const successes = (usual: number) => z.int().min(1).max(100).default(usual).describe(`In a row, and it gets requests again. Default: ${usual}.`);
const stale = () => duration({ min: 1000, max: 3_600_000 }).prefault('30s').describe('So long the last figures count when no new ones come; then none do. Default: 30s.');
const url = (example: string) => text().describe('http:// or https://. Redirects are not followed, and no credentials are sent. In a pool {host} stands for the address of each endpoint.').meta({ examples: [example] });
const path = (usual: string) => z.string().regex(/^\/[\x21-\x7e]*$/, 'must be a path that begins with /').default(usual);
const healthPath = () => path('/health').describe('Default: /health.');

/** Envoy's own check. */
const http = z
  .strictObject({
    path: healthPath(),
    interval: duration({ min: 100, max: 3_600_000 }).prefault('5s').describe('Default: 5s.'),
    timeout: duration({ min: 50, max: 60_000 }).prefault('1s').describe('Default: 1s.'),
    unhealthy_after: z.int().min(1).max(100).default(3).describe('Failed checks in a row. Default: 3.'),
    healthy_after: z.int().min(1).max(100).default(2).describe('Passed checks in a row. Default: 2.'),
  })
  .describe("Envoy's check, for the choice among the endpoints of this backend. Default: none.");

const network = z
  .strictObject({ interval: interval('5s'), timeout: timeout('1s'), failures: failures(3), successes: successes(2) })
  .describe('Connects to every endpoint (with TLS: to the end of its handshake) and sends nothing. Default: none.');

const service = z
  .strictObject({ path: healthPath(), interval: interval('5s'), timeout: timeout('1s'), failures: failures(3), successes: successes(2) })
  .describe('GET of a path of every endpoint; any 2xx is good. What the gateway decides by, where `http` is for Envoy. Default: none.');

const model = z
  .strictObject({
    interval: interval('30s', 5000),
    timeout: timeout('2s'),
    failures: failures(2),
    successes: successes(1),
    max_tokens: z.int().min(1).max(1024).default(1).describe('Length of the answer asked for; models that think first need more. Default: 1.'),
  })
  .describe("A short chat with every deployment. Costs tokens: booked as the gateway's own cost, business line `probe`. Default: none.");

const metrics = z
  .strictObject({
    url: url('http://10.0.0.5:8000/metrics'),
    interval: interval('1s'),
    timeout: timeout('1s'),
    stale: stale(),
    queue: z.number().min(1).max(100_000).default(8).describe('Waiting requests there above which the backend gets less. Default: 8.'),
    cache: z.number().gt(0).max(1).default(0.95).describe('Share of the cache for prompts in use above which it gets half. Default: 0.95.'),
  })
  .describe('Figures of the model server (vLLM, SGLang). Default: none.');

const models = z
  .strictObject({
    path: path('/v1/models').describe('Where the list is: as OpenAI lists models, or as Ollama does (/api/ps). Default: /v1/models.'),
    interval: interval('5s'),
    timeout: timeout('1s'),
  })
  .describe(
    'Which models every endpoint has loaded, for `affinity: model`: only of a server that lists loaded ones and no others. Default: by what was sent there.',
  );

const gpu = z
  .strictObject({
    url: url('http://10.0.0.5:9400/metrics'),
    interval: interval('5s'),
    timeout: timeout('2s'),
    stale: stale(),
    labels: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a label name'), z.string().max(512))
      .default({})
      .describe("Which of the exporter's GPUs belong to this backend: those that have all of these labels. Default: all.")
      .meta({ examples: [{ gpu: '0' }] }),
    max_celsius: z.number().min(20).max(120).default(75).describe('From here on nothing new goes there. Default: 75.'),
    hysteresis: z.number().min(0).max(50).default(5).describe('So many degrees below that it gets requests again. Default: 5.'),
    pcie_replays: z.number().min(1).max(1_000_000).default(100).describe('Repeated transfers on its bus a minute, above which nothing goes there. Default: 100.'),
    panic_share: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe("At most this share of a model's deployments is left out for their GPUs at once; the others get little. Default: 0.5."),
  })
  .describe('Figures of the GPUs from a DCGM exporter: temperature, errors, throttling. Default: none.');

export const healthSection = z
  .strictObject({
    http: http.optional(),
    network: network.optional(),
    service: service.optional(),
    model: model.optional(),
    metrics: metrics.optional(),
    models: models.optional(),
    gpu: gpu.optional(),
  })
  .describe('How it is found out whether this backend is well. All but `http` is done by the gateway, by one process for all. Default: only by its requests.');
