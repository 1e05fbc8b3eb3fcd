import { z } from 'zod';
import { docsPage } from '../docs/docs-page.ts';
import { renderOpenApi } from '../docs/openapi.ts';
import { route } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { PAGE_HEADERS } from './ui-routes.ts';

/** What tells of `routes`. Public: it holds nothing that the published schema does not. */
export function docsRoutes(routes: readonly AdminRoute[]): readonly AdminRoute[] {
  const page = docsPage(routes);
  const openApi = renderOpenApi(routes);
  return [
    route({
      name: 'docs.page',
      method: 'GET',
      path: '/admin/docs',
      summary: 'This API, to read and to try',
      rule: { kind: 'public' },
      params: null,
      query: null,
      body: null,
      reply: { status: 200, schema: z.null(), also: ['text/html'] },
      run: async () => ({
        body: null,
        text: {
          type: 'text/html; charset=utf-8',
          content: page,
          headers: { ...PAGE_HEADERS, 'cache-control': 'no-store' },
        },
      }),
    }),
    route({
      name: 'docs.openapi',
      method: 'GET',
      path: '/admin/openapi.json',
      summary: 'This API as OpenAPI 3.1',
      rule: { kind: 'public' },
      params: null,
      query: null,
      body: null,
      reply: { status: 200, schema: z.null(), also: ['application/json'] },
      run: async () => ({ body: null, text: { type: 'application/json; charset=utf-8', content: openApi } }),
    }),
  ];
}
