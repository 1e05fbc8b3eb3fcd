import { z } from 'zod';
import { ADMIN_ERRORS } from '../http/admin-error.ts';
import { isWrite } from '../route.ts';
import type { AdminRoute } from '../route.ts';

type Node = { [key: string]: unknown };

const ERROR_SCHEMA = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        param: { type: ['string', 'null'], description: 'The field or header at fault.' },
        code: { type: 'string', enum: Object.keys(ADMIN_ERRORS) },
      },
      required: ['message', 'type', 'param', 'code'],
    },
  },
  required: ['error'],
} as const;

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'A field, parameter or header is wrong; fields that are not known are, too.',
  401: 'No token, or one that does not open this.',
  403: 'The role does not reach, or the tenant is another.',
  404: 'Not there, or of another tenant.',
  408: 'The request came too slowly.',
  409: 'It exists already, is in a state that forbids this, or the Idempotency-Key was used for something else.',
  412: 'Somebody else has changed it in between: `etag` tells the version now.',
  413: 'The body is too large.',
  415: 'The content type is not application/json.',
  428: 'If-Match is missing.',
  429: 'Too many tries: `retry-after` says how long to wait.',
  500: 'A fault of the server.',
  503: 'The store, the identity provider or the audit is out of reach.',
};

/** OpenAPI 3.1 of the routes, made from the very schemas that check requests and answers. */
export function openApiDocument(routes: readonly AdminRoute[]): Node {
  const schemas: Node = { Error: ERROR_SCHEMA };
  const paths: { [path: string]: Node } = {};
  for (const route of routes) {
    const operations = (paths[route.path] ??= {});
    operations[route.method.toLowerCase()] = operation(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'TokenLat admin API',
      version: '1',
      description:
        'Keys, tenants, business lines, budgets, spending and state. Roles: `viewer`, `operator`, `admin`, for all tenants or for one. Writes carry an `Idempotency-Key` (remembered for 24 hours); changes carry `If-Match`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:9903' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An admin token of the configuration, or a JWT with a scope `admin:…`.',
        },
      },
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(
        Object.entries(MEANINGS).map(([status, description]) => [
          `Error${status}`,
          { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
        ]),
      ),
    },
  };
}

/** The file `schema/openapi.json`. */
export function renderOpenApi(routes: readonly AdminRoute[]): string {
  return `${JSON.stringify(openApiDocument(routes), null, 2)}\n`;
}

function operation(route: AdminRoute, schemas: Node): Node {
  const { rule, reply } = route;
  const needs = rule.kind === 'public' ? '' : `Role: ${rule.role}${rule.tenant === 'none' ? ', of all tenants' : ''}.`;
  return {
    operationId: route.name,
    tags: [route.name.split('.')[0]],
    summary: route.summary,
    description: [route.description, needs].filter((text) => text !== undefined && text !== '').join(' '),
    parameters: [...fields(route.params, 'path', schemas), ...fields(route.query, 'query', schemas), ...headers(route)],
    ...(route.body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: convert(route.body, 'input', schemas) } },
          },
        }),
    responses: {
      [reply.status]: {
        description: 'Done.',
        ...(reply.etag === true
          ? { headers: { ETag: { description: 'The version.', schema: { type: 'string' } } } }
          : {}),
        content: {
          'application/json': { schema: convert(reply.schema, 'output', schemas) },
          ...Object.fromEntries((reply.also ?? []).map((type) => [type, { schema: { type: 'string' } }])),
        },
      },
      ...Object.fromEntries(
        statuses(route).map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  };
}

function statuses(route: AdminRoute): readonly number[] {
  const { params, body, ifMatch } = route;
  return [
    400,
    401,
    403,
    ...(params === null ? [] : [404]),
    ...(isWrite(route) ? [409] : []),
    ...(ifMatch === undefined ? [] : [412]),
    ...(body === null ? [] : [413, 415]),
    ...(ifMatch === 'required' ? [428] : []),
    429,
    500,
    503,
  ];
}

function headers(route: AdminRoute): readonly Node[] {
  const found: Node[] = [];
  if (isWrite(route))
    found.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: true,
      description: 'Any text of your own, such as a UUID. The same again does nothing again and gets the first answer.',
      schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
    });
  if (route.ifMatch !== undefined)
    found.push({
      name: 'If-Match',
      in: 'header',
      required: route.ifMatch === 'required',
      description: 'The `ETag` that you read, or `*`.',
      schema: { type: 'string' },
    });
  return found;
}

function fields(schema: z.ZodObject | null, place: 'path' | 'query', schemas: Node): readonly Node[] {
  if (schema === null) return [];
  const { properties = {}, required = [] } = convert(schema, 'input', schemas) as {
    readonly properties?: { readonly [name: string]: Node };
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rule }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rule,
  }));
}

/** One schema as JSON Schema 2020-12; those with a name of their own go into `schemas`. */
function convert(schema: z.ZodType, io: 'input' | 'output', schemas: Node): unknown {
  // The root is never taken out as a named schema, so it is made a field of one.
  const whole = z.toJSONSchema(z.object({ it: schema }), { io, target: 'draft-2020-12' }) as unknown as {
    readonly properties: { readonly it: unknown };
    readonly $defs?: Node;
  };
  for (const [name, definition] of Object.entries(whole.$defs ?? {})) schemas[name] = tidy(definition);
  return tidy(whole.properties.it);
}

/** References into the components; bounds that only say "a double holds it" left out. */
function tidy(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== 'object' || node === null) return node;
  const inside: Node = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'id' && typeof value === 'string' && 'type' in node) continue;
    if (
      (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
      (key === 'minimum' && value === Number.MIN_SAFE_INTEGER)
    )
      continue;
    inside[key] =
      key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', '#/components/schemas/') : tidy(value);
  }
  return inside;
}
