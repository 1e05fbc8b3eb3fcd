/** What a demo model server does wrong on purpose. */
export type DemoFault =
  | { readonly kind: 'status'; readonly status: number }
  /** A maintenance page: 502 with HTML. */
  | { readonly kind: 'html' }
  /** 200 with bytes that are no answer. */
  | { readonly kind: 'garbage' }
  /** The connection is reset before the head. */
  | { readonly kind: 'reset' }
  /** Never a byte. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'slow-first-token'; readonly ms: number }
  /** The connection is reset after so many tokens. */
  | { readonly kind: 'cut'; readonly after: number }
  /** Silence after so many tokens. */
  | { readonly kind: 'stall'; readonly after: number }
  /** An error object after so many tokens, then the end. */
  | { readonly kind: 'error-in-stream'; readonly after: number }
  | { readonly kind: 'no-usage' };

const FORM = /^(?:.*\/)?([a-z-]+?)(?:-(\d{1,6}))?$/;

/**
 * The fault that a model's name (or an `x-demo-fault` header) asks for; null for any other name. Names: `fail-503` (any
 * status), `html-error`, `garbage`, `reset`, `hang`, `slow-first-token[-MS]`, `cut-after-N`, `hang-after-N`,
 * `error-in-stream[-N]`, `no-usage`; a prefix up to `/` is passed over.
 */
export function parseDemoFault(name: string): DemoFault | null {
  const match = FORM.exec(name);
  if (match === null) return null;
  const number = match[2] === undefined ? null : Number(match[2]);
  switch (match[1]) {
    case 'fail':
      return number !== null && number >= 400 && number <= 599 ? { kind: 'status', status: number } : null;
    case 'html-error':
      return { kind: 'html' };
    case 'garbage':
    case 'reset':
    case 'hang':
    case 'no-usage':
      return { kind: match[1] };
    case 'slow-first-token':
      return { kind: 'slow-first-token', ms: number ?? 3000 };
    case 'cut-after':
      return { kind: 'cut', after: number ?? 3 };
    case 'hang-after':
      return { kind: 'stall', after: number ?? 3 };
    case 'error-in-stream':
      return { kind: 'error-in-stream', after: number ?? 3 };
    case undefined:
    default:
      return null;
  }
}
