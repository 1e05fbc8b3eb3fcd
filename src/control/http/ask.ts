import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { SecureContext } from 'node:tls';
import { HeaderList, type HeaderPair, type ResponseHead } from '../../core/http.ts';
import { isLinkLocal } from '../../lib/address/address.ts';
import { linkLocalRefusal } from '../../lib/address/guarded-lookup.ts';
import { systemLookup } from './system-lookup.ts';

/** One request of our own. */
export interface Question {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  /** With its query. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Without pseudo headers; `host` is set by itself where it is left out. */
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer | null;
  /** For all of it, to the last byte. */
  readonly timeoutMs: number;
  /** A longer answer is an error. */
  readonly maxBytes: number;
  /** May the host lead to a link-local network or a metadata service? */
  readonly allowLinkLocal: boolean;
  /** Whom to trust with TLS; left out: those that Node trusts. */
  readonly trust?: SecureContext | undefined;
}

export interface Answered {
  readonly head: ResponseHead;
  readonly body: Buffer;
}

/** Asks once, over a connection of its own. Redirects are an answer like any other. Rejects when no whole answer comes in time. */
export type Ask = (question: Question) => Promise<Answered>;

export const ask: Ask = async (question) => {
  const { host, timeoutMs, maxBytes, allowLinkLocal } = question;
  // An address in numbers is never looked up.
  if (!allowLinkLocal && isLinkLocal(host)) throw linkLocalRefusal(host);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await gather(await send(question, signal), maxBytes);
  } catch (error) {
    throw signal.aborted ? new Error(`no answer in ${timeoutMs} ms`, { cause: error }) : error;
  }
};

function send(question: Question, signal: AbortSignal): Promise<http.IncomingMessage> {
  const { tls, host, port, path, method, headers, body, allowLinkLocal, trust } = question;
  return new Promise((done, fail) => {
    const request = (tls ? https : http).request({
      host,
      port,
      path,
      method,
      agent: false,
      signal,
      headers: {
        'user-agent': 'TokenLat',
        ...Object.fromEntries(headers),
        ...(body === null ? {} : { 'content-length': body.length }),
      },
      ...(allowLinkLocal || net.isIP(host) !== 0 ? {} : { lookup: systemLookup }),
      ...(tls && trust !== undefined ? { secureContext: trust } : {}),
    });
    request.once('response', done);
    // Errors after the head are the answer's to tell.
    request.on('error', fail);
    request.end(body ?? undefined);
  });
}

async function gather(response: http.IncomingMessage, maxBytes: number): Promise<Answered> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      response.destroy();
      throw new Error(`answered with more than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const { rawHeaders, statusCode = 0 } = response;
  const pairs: HeaderPair[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([String(rawHeaders[at]).toLowerCase(), String(rawHeaders[at + 1])]);
  return { head: { status: statusCode, headers: new HeaderList(pairs) }, body: Buffer.concat(chunks) };
}
