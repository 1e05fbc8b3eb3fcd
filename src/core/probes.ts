import { bracketed } from './endpoint.ts';

/** How often a backend is looked at, and how many looks of a kind in a row change what is thought of it. */
export interface Paced {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly failures: number;
  readonly successes: number;
}

/** What the gateway looks at to know whether a backend is well; null = not at that. */
export interface Probes {
  /** May an address lead to a link-local network or a metadata service? */
  readonly allowLinkLocal: boolean;
  readonly network: Paced | null;
  readonly service: (Paced & { readonly path: string }) | null;
  readonly model: (Paced & { readonly maxTokens: number }) | null;
  readonly metrics: (Scraped & { readonly queue: number; readonly cache: number }) | null;
  /** Which models are loaded, by the server's own list. */
  readonly models: { readonly path: string; readonly intervalMs: number; readonly timeoutMs: number } | null;
  readonly gpu:
    | (Scraped & {
        /** Which GPUs of the exporter belong to the backend: those with all of these. */
        readonly labels: readonly (readonly [name: string, value: string])[];
        readonly maxCelsius: number;
        readonly hysteresis: number;
        /** A minute. */
        readonly pcieReplays: number;
        /** 0..1: the largest share of a model's deployments that may be left out for their GPUs. */
        readonly panicShare: number;
      })
    | null;
}

/** Where figures are read; the last ones count for `staleMs`. */
export interface Scraped {
  /** With `{host}` in it: of each endpoint of a pool by itself. */
  readonly url: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly staleMs: number;
}

const HOST = '{host}';

/** Are there figures of each endpoint? */
export function isOfEndpoints({ url }: Pick<Scraped, 'url'>): boolean {
  return url.includes(HOST);
}

/** The URL for one endpoint. */
export function urlAt(url: string, host: string): string {
  return url.replaceAll(HOST, bracketed(host));
}
