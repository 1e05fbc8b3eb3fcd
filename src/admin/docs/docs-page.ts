import { createHash } from 'node:crypto';
import { isWrite } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { openApiDocument } from './openapi.ts';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f3f3f3 }
code { padding: .1rem .3rem }
pre { padding: .75rem; overflow: auto }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616 }
  code, pre { background: #262626 }
  h2, th, td { border-color: #444 }
  a { color: #8ab4f8 }
}
`;

/** The page runs no script and loads nothing: its one style is named by its hash. */
export const DOCS_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The API in HTML, from the same routes as its OpenAPI document. */
export function docsPage(routes: readonly AdminRoute[]): string {
  const document = openApiDocument(routes) as {
    readonly info: { readonly title: string; readonly description: string };
    readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const operations = routes.map((route) => section(route, document.paths[route.path]?.[route.method.toLowerCase()]));
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `<h3 id="schema-${escape(name)}">${escape(name)}</h3><pre>${json(schema)}</pre>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(document.info.title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escape(document.info.title)}</h1><p>${text(document.info.description)}</p>
<p><a href="/admin/openapi.json">OpenAPI 3.1</a></p>
<ul>${routes.map(link).join('')}</ul>
${operations.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</main></body></html>
`;
}

interface Operation {
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}

function link({ name, method, path }: AdminRoute): string {
  return `<li><a href="#${escape(name)}"><span class="method">${method}</span> <code>${escape(path)}</code></a></li>`;
}

function section(route: AdminRoute, operation: Operation | undefined): string {
  if (operation === undefined) return '';
  const rows = operation.parameters.map(
    (parameter) =>
      `<tr><td><code>${escape(parameter.name)}</code></td><td>${escape(parameter.in)}${parameter.required ? ', required' : ''}</td><td>${text(parameter.description ?? '')} <code>${escape(JSON.stringify(parameter.schema))}</code></td></tr>`,
  );
  const body = operation.requestBody?.content['application/json']?.schema;
  const answer = operation.responses[String(route.reply.status)]?.content?.['application/json']?.schema;
  return `<h2 id="${escape(route.name)}"><span class="method">${route.method}</span> <code>${escape(route.path)}</code></h2>
<p>${escape(route.summary)}. ${text(operation.description)}</p>
${rows.length === 0 ? '' : `<table><tr><th>name</th><th>in</th><th>meaning</th></tr>${rows.join('')}</table>`}
${isWrite(route) && body !== undefined ? `<p>Body:</p><pre>${json(body)}</pre>` : ''}
<p>Answer ${route.reply.status}:</p><pre>${json(answer)}</pre>`;
}

function escape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Text whose words between backticks are code. */
const text = (value: string): string => escape(value).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** JSON whose references lead to the schema on this page. */
function json(value: unknown): string {
  return escape(JSON.stringify(value, null, 2)).replaceAll(
    /#\/components\/schemas\/(\w+)/g,
    '<a href="#schema-$1">#/components/schemas/$1</a>',
  );
}
