import type { HeaderPair } from './http.ts';
import type { Json } from './json.ts';

/** What a message shall become. Names are lower-case; `set` overwrites; values are clean (see `header-value.ts`). */
export interface Mutation {
  readonly set?: readonly HeaderPair[];
  readonly remove?: readonly string[];
  /** Dynamic metadata by namespace, for other filters and Envoy's access log. */
  readonly metadata?: Readonly<Record<string, { readonly [key: string]: Json }>>;
}
