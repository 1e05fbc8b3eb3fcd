import { z } from 'zod';
import { route } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import type { UiFile } from '../ui/read-ui.ts';

/**
 * What pages may do: run the scripts and styles that came with them and ask this very server. No inline script or style, no
 * markup made of texts (trusted types), no frame around it, no form that leads elsewhere.
 */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** On every page and on what it loads. */
export const PAGE_HEADERS = {
  'content-security-policy': CSP,
  // Asked anew each time, and answered by 304 while it is the same.
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

/** The dashboard's files, each at a path of its own: public, the same for everybody, and without data. */
export function uiRoutes(files: readonly UiFile[]): readonly AdminRoute[] {
  return files.map(({ path, type, content, etag }) =>
    route({
      name: `ui ${path}`,
      method: 'GET',
      path,
      summary: 'A file of the dashboard',
      rule: { kind: 'public', files: true },
      params: null,
      query: null,
      body: null,
      reply: { status: 200, schema: z.null(), static: true },
      run: async () => ({ body: null, text: { type, content, headers: { ...PAGE_HEADERS, etag } } }),
    }),
  );
}
