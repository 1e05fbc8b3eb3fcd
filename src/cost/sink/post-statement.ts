import { lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIpAddress, isLinkLocal } from '../../lib/address/address.ts';
import { guardedLookup, linkLocalRefusal, type Resolve } from '../../lib/address/guarded-lookup.ts';

/** Where statements go, and by which rules. */
export interface StatementTarget {
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates, PEM, that vouch for the server instead of those of the system. */
  readonly ca: string | null;
  readonly allowLinkLocal: boolean;
  readonly timeoutMs: number;
}

export interface StatementAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Its beginning. */
  readonly text: string;
}

const MAX_ANSWER = 64 * 1024;
const system: Resolve = (host, done) => lookup(host, { all: true }, (error, found) => done(error, found));

/** Posts one statement over a connection of its own. Follows no redirect: that would carry the password along. */
export function postStatement(
  url: URL,
  body: string,
  { headers, ca, allowLinkLocal, timeoutMs }: StatementTarget,
  signal: AbortSignal,
): Promise<StatementAnswer> {
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  // An address in numbers is never looked up.
  if (!allowLinkLocal && isLinkLocal(host)) return Promise.reject(linkLocalRefusal(host));
  const secure = url.protocol === 'https:';
  const request = (secure ? https : http).request(url, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: { ...headers, 'content-length': Buffer.byteLength(body), 'user-agent': 'TokenLat' },
    ...(secure && ca !== null ? { ca } : {}),
    ...(allowLinkLocal || isIpAddress(host) ? {} : { lookup: guardedLookup(system) }),
  });
  return new Promise((done, fail) => {
    request.once('response', (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const finish = (): void =>
        done({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(pieces).toString() });
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes <= MAX_ANSWER) return;
        finish();
        response.destroy();
      });
      response.once('end', finish);
      response.once('error', fail);
    });
    request.on('error', fail);
    request.end(body);
  });
}
