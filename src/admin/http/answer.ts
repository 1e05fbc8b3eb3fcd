import type { Json } from '../../core/json.ts';

/** What goes out: JSON, or a text as it is. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json | string;
}
