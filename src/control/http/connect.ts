import net from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import { isLinkLocal } from '../../lib/address/address.ts';
import { linkLocalRefusal } from '../../lib/address/guarded-lookup.ts';
import { systemLookup } from './system-lookup.ts';

export interface ConnectTo {
  readonly tls: boolean;
  readonly http2: boolean;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly allowLinkLocal: boolean;
  readonly trust?: SecureContext | undefined;
}

/** Connects, with TLS to the end of the handshake, and lets go at once. Rejects when that does not come about in time. */
export type Connect = (to: ConnectTo) => Promise<void>;

export const connect: Connect = ({ tls: isTls, http2, host, port, timeoutMs, allowLinkLocal, trust }) => {
  if (!allowLinkLocal && isLinkLocal(host)) return Promise.reject(linkLocalRefusal(host));
  const isAddress = net.isIP(host) !== 0;
  return new Promise((done, fail) => {
    const common = { host, port, ...(allowLinkLocal || isAddress ? {} : { lookup: systemLookup }) };
    const socket = isTls
      ? tls.connect({
          ...common,
          ALPNProtocols: [http2 ? 'h2' : 'http/1.1'],
          ...(isAddress ? {} : { servername: host }),
          ...(trust === undefined ? {} : { secureContext: trust }),
        })
      : net.connect(common);
    const timer = setTimeout(() => socket.destroy(new Error(`no connection in ${timeoutMs} ms`)), timeoutMs);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.destroy();
      done();
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      fail(error);
    });
  });
};
