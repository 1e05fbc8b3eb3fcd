import type { CutBy } from '../core/ending.ts';
import type { GatewayError } from '../core/error.ts';

/** How a request ends, as the flow sees it. `answered`: by ourselves, in place of any model. */
export type ClosingHow =
  | { readonly kind: 'complete' }
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly error: GatewayError }
  | { readonly kind: 'cut'; readonly by: CutBy };
