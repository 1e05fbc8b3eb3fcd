import { isWrite } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { openApiDocument } from './openapi.ts';

/** Of the dashboard's files: the page has none of its own. */
const STYLES = ['base', 'dashboard', 'docs'];

/**
 * The API in HTML, from the same routes as its OpenAPI document. It is whole without script; `src/ui/browser/docs.ts` puts what
 * can be tried in its place.
 */
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
<html lang="en"><head><meta charset="utf-8"><title>${escape(document.info.title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<link rel="icon" type="image/svg+xml" href="../ui/style/icon.svg">
${STYLES.map((name) => `<link rel="stylesheet" href="../ui/style/${name}.css">`).join('\n')}
<script type="module" src="../ui/browser/docs.js"></script></head>
<body class="dashboard docs"><a class="skip" href="#content">Skip to the content</a>
<div id="app"><main id="content" class="unscripted" tabindex="-1"><h1>${escape(document.info.title)}</h1><p>${text(document.info.description)}</p>
<noscript><p>With JavaScript, operations can be searched and tried here.</p></noscript>
<p><a href="openapi.json">OpenAPI 3.1</a></p>
<ul>${routes.map(link).join('')}</ul>
${operations.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</main></div><p id="said" class="unseen" role="status"></p></body></html>
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
