import fs from 'node:fs';
import { isLoopback } from '../../lib/address/address.ts';
import type { Path } from '../problem.ts';
import { formatDuration } from '../units.ts';
import { DEFAULT_SOCKET_DIR, workerAddresses } from '../worker-address.ts';
import type { CheckContext } from './finding.ts';

/** What Envoy's timer and our own need to get an answer out in time. */
const MARGIN_MS = 30;
/** `sun_path` holds 108 bytes with the closing zero. */
const MAX_SOCKET_PATH = 107;

/** Rules about addresses, files, bounds and waits. */
export function checkServer(context: CheckContext): void {
  checkAddresses(context);
  checkFiles(context);
  checkWaits(context);
  checkBounds(context);
  checkRedis(context);
}

function checkAddresses({ document, files, problem, warn }: CheckContext): void {
  const { server, listen } = document;
  if (server.transport === 'tcp') {
    const { address, mtls, port } = server.tcp;
    if (!isLoopback(address) && mtls === undefined)
      problem(
        ['server', 'tcp', 'address'],
        `${address} can be reached from other machines: give server.tcp.mtls, or use 127.0.0.1 or unix sockets`,
      );
    if (port + server.workers - 1 > 65_535)
      problem(['server', 'tcp', 'port'], 'leaves too few ports for that many workers');
  } else {
    const socketDir = files.resolve(server.socket_dir ?? DEFAULT_SOCKET_DIR);
    const longest = workerAddresses({ workers: server.workers, transport: { kind: 'unix', socketDir } }).at(-1);
    if (longest?.kind === 'unix' && Buffer.byteLength(longest.path) > MAX_SOCKET_PATH)
      problem(
        ['server', 'socket_dir'],
        `gives a socket path of more than ${MAX_SOCKET_PATH} bytes: choose a shorter folder`,
      );
  }
  if (!isLoopback(server.ops.address))
    warn(
      ['server', 'ops', 'address'],
      `${server.ops.address} shows health and metrics to other machines, without authentication`,
    );
  const taken = new Map<number, string>([[listen.port, 'listen.port']]);
  for (const [port, path] of [
    [listen.admin_port, ['listen', 'admin_port']],
    [server.ops.port, ['server', 'ops', 'port']],
  ] as const) {
    const other = taken.get(port);
    if (other !== undefined) problem(path, `port ${port} is taken by ${other}`);
    else taken.set(port, path.join('.'));
  }
}

function checkFiles({ document, files, problem }: CheckContext): void {
  const { listen, server } = document;
  const named: [Path, string | undefined][] = [
    [['listen', 'tls', 'cert'], listen.tls?.cert],
    [['listen', 'tls', 'key'], listen.tls?.key],
    [['server', 'tcp', 'mtls', 'cert'], server.tcp.mtls?.cert],
    [['server', 'tcp', 'mtls', 'key'], server.tcp.mtls?.key],
    [['server', 'tcp', 'mtls', 'ca'], server.tcp.mtls?.ca],
  ];
  for (const [path, file] of named) {
    if (file !== undefined && fs.statSync(files.resolve(file), { throwIfNoEntry: false })?.isFile() !== true)
      problem(path, `${files.resolve(file)} is not there: it must be a PEM file`);
  }
}

function checkWaits({ document, problem }: CheckContext): void {
  const longest = document.server.message_timeout - MARGIN_MS;
  const wait = (path: Path, ms: number | undefined): void => {
    if (ms === undefined || ms <= longest) return;
    problem(
      path,
      `${formatDuration(ms)} is too long: it must be at least ${MARGIN_MS}ms below server.message_timeout (${formatDuration(document.server.message_timeout)}): shorten it, or raise server.message_timeout`,
    );
  };
  wait(['redis', 'command_timeout'], document.redis?.command_timeout);
  document.auth.issuers.forEach((issuer, index) => {
    if (issuer.jwks?.url !== undefined) wait(['auth', 'issuers', index, 'jwks', 'timeout'], issuer.jwks.timeout);
  });
  document.backends.forEach((backend, index) =>
    wait(['backends', index, 'limits', 'queue', 'timeout'], backend.limits?.queue?.timeout),
  );
  document.models.forEach((model, index) =>
    model.deployments.forEach((deployment, at) =>
      wait(['models', index, 'deployments', at, 'limits', 'queue', 'timeout'], deployment.limits?.queue?.timeout),
    ),
  );
}

function checkBounds({ document, problem }: CheckContext): void {
  const { limits, timeouts, retry, server } = document;
  if (limits.event > limits.response) problem(['limits', 'event'], 'must not be larger than limits.response');
  if (timeouts.max_request !== undefined && timeouts.max_request < timeouts.request)
    problem(['timeouts', 'max_request'], 'must not be shorter than timeouts.request');
  if (timeouts.connect > timeouts.request) problem(['timeouts', 'connect'], 'must not be longer than timeouts.request');
  if (retry.base > retry.max) problem(['retry', 'base'], 'must not be longer than retry.max');
  if (document.ledger.lease <= server.message_timeout)
    problem(['ledger', 'lease'], 'must be longer than server.message_timeout, or running requests would count as dead');
  document.routes.forEach((route, index) => {
    const most = timeouts.max_request ?? Math.max(timeouts.request, 900_000);
    if (route.timeout !== undefined && route.timeout > most)
      problem(['routes', index, 'timeout'], 'must not be longer than timeouts.max_request');
  });
}

function checkRedis({ document, problem, warn, ownRedis }: CheckContext): void {
  const { redis, server } = document;
  if (redis === undefined) {
    if (ownRedis) return;
    warn(
      [],
      `has no redis: quota and ledger live in memory and are lost with the process (only "tokenlat up" starts one)${server.workers > 1 ? '; each worker counts on its own' : ''}`,
    );
    return;
  }
  let url: URL | null = null;
  try {
    url = new URL(redis.url);
  } catch {
    url = null;
  }
  const socket = url?.protocol === 'unix:' && url.pathname.length > 1;
  if (!socket && (url === null || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === ''))
    problem(['redis', 'url'], 'must be redis://host:port, rediss://host:port or unix:///path/of/the/socket');
  if (redis.sentinel !== undefined && redis.cluster !== undefined)
    problem(['redis', 'cluster'], 'cannot stand beside redis.sentinel: keep one');
}
