import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { fastify } from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access/caller.ts';
import type { AdminDeps } from '../admin-deps.ts';
import type { AdminRoute } from '../route.ts';
import { AdminError } from './admin-error.ts';
import type { Answer } from './answer.ts';
import type { createGuard } from './guard.ts';
import { perform } from './perform.ts';
import type { RawRequest } from './read-request.ts';
import { toAdminError } from './to-admin-error.ts';

export interface AppOptions {
  readonly routes: readonly AdminRoute[];
  readonly deps: AdminDeps;
  readonly guard: ReturnType<typeof createGuard>;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string; readonly clientCa: string | null } | null;
  /** How long one request may take to be answered. */
  readonly timeoutMs: number;
  readonly maxConnections: number;
}

const MAX_BODY = 64 * 1024;
const MAX_HEADERS = 16 * 1024;
const MAX_PARAM = 1024;
/** On every answer. */
const ALWAYS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;
/** Whom a public route sees: nobody of no tenant. */
const NOBODY: Caller = { name: '', via: 'token', role: 'viewer', tenant: '' };

/** The routes behind the guard, on HTTP. Only this file knows the HTTP library. */
export function createApp(options: AppOptions): FastifyInstance {
  const { routes, deps, guard, timeoutMs } = options;
  const app = open(options);
  const callers = new WeakMap<object, Caller>();

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers({ ...ALWAYS, 'x-request-id': request.id });
    const { route } = request.routeOptions.config as { readonly route?: AdminRoute };
    const caller = await within(
      guard({ address: request.ip, headers: request.headers }, route?.rule ?? null),
      timeoutMs,
    );
    if (caller !== null) callers.set(request, caller);
  });
  for (const route of routes)
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { route },
      bodyLimit: route.maxBody ?? MAX_BODY,
      handler: async (request, reply) => {
        const caller = callers.get(request) ?? NOBODY;
        const answer = await within(perform(route, rawOf(request), caller, deps), timeoutMs);
        send(reply, route.reply.static === true ? ifChanged(request, answer) : answer);
        return reply;
      },
    });
  const patterns = routes.map(({ path, method }) => ({ method, pattern: patternOf(path) }));
  app.setNotFoundHandler((request) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    if (methods.length === 0) throw new AdminError('unknown_endpoint', 'There is no such path.');
    throw new AdminError('method_not_allowed', 'This path does not have that method.', {
      headers: { allow: methods.join(', ') },
    });
  });
  app.setErrorHandler((reason, request, reply) => {
    const error = toAdminError(reason);
    if (error.status >= 500) deps.log.error('admin request failed', { error: causeOf(error), request_id: request.id });
    const headers = { 'content-type': 'application/json; charset=utf-8', ...error.headers };
    send(reply, { status: error.status, headers, body: error.toJSON() });
  });
  return app;
}

function open({ tls, maxConnections }: AppOptions): FastifyInstance {
  const common = {
    logger: false,
    bodyLimit: MAX_BODY,
    requestIdHeader: false,
    genReqId: () => `adm-${randomBytes(12).toString('hex')}`,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 10_000,
    // A connection on which nothing happens; longer than any answer takes.
    connectionTimeout: 15_000,
    keepAliveTimeout: 5_000,
    routerOptions: { maxParamLength: MAX_PARAM },
    // Paths that cannot be read never come to a hook.
    frameworkErrors: (reason: Error, request: FastifyRequest, reply: FastifyReply) => {
      const error = toAdminError(reason);
      const headers = { ...ALWAYS, 'content-type': 'application/json; charset=utf-8', 'x-request-id': request.id };
      send(reply, { status: error.status, headers, body: error.toJSON() });
    },
    clientErrorHandler: refuseSocket,
  } as const;
  // Node looks for late requests this often only.
  const http = { maxHeaderSize: MAX_HEADERS, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const app = (tls === null
    ? fastify({ ...common, http })
    : fastify({
        ...common,
        https: {
          ...http,
          cert: tls.cert,
          key: tls.key,
          minVersion: 'TLSv1.2',
          handshakeTimeout: 5_000,
          ...(tls.clientCa === null ? {} : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
        },
      })) as unknown as FastifyInstance;
  app.server.maxConnections = maxConnections;
  return app;
}

function rawOf(request: FastifyRequest): RawRequest {
  const { id, ip, method, url, headers, params, query, body } = request;
  return { id, address: ip, method, url, headers, params, query, body: Buffer.isBuffer(body) ? body : null };
}

/** 304 for what the client has already (RFC 9110, 13.1.2). */
function ifChanged({ headers }: FastifyRequest, answer: Answer): Answer {
  const known = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  const same = known.includes('*') || known.includes(answer.headers['etag'] ?? '\n');
  return same ? { ...answer, status: 304, body: '' } : answer;
}

function send(reply: FastifyReply, { status, headers, body }: Answer): void {
  void reply
    .code(status)
    .headers(headers)
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

/** What the parser of Node refuses never becomes a request. */
function refuseSocket(reason: Error, socket: Socket): void {
  const { code } = reason as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const error =
    code === 'HPE_HEADER_OVERFLOW'
      ? new AdminError('request_headers_too_large', 'The headers are larger than 16 KiB.')
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AdminError('request_timeout', 'The request came too slowly.')
        : new AdminError('invalid_value', 'This is not well-formed HTTP.');
  const body = JSON.stringify(error.toJSON());
  socket.end(
    `HTTP/1.1 ${error.status} Refused\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-request-id: adm-${randomBytes(12).toString('hex')}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

const causeOf = (error: AdminError): Error => (error.cause instanceof Error ? error.cause : error);

/** A write that is late goes on by itself: a repetition with its Idempotency-Key gets its answer. */
function within<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new AdminError('too_slow', 'This takes too long. Ask again.')), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
