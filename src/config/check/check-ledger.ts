import { X509Certificate } from 'node:crypto';
import type { CheckContext } from './finding.ts';
import { checkOutgoingUrl } from './outgoing-url.ts';

const PATH = ['ledger', 'sink'] as const;

/** Rules about where the ledger goes. */
export function checkLedger(context: CheckContext): void {
  const { document, files, problem, warn, ownRedis } = context;
  const { sink, max_events: maxEvents } = document.ledger;
  if (sink === undefined) return;
  checkOutgoingUrl(context, sink, [...PATH, 'url']);
  if (document.redis === undefined && !ownRedis)
    warn([...PATH], 'needs a Redis: what lies in memory is gone before it is sent');
  if (sink.keep_unsent < maxEvents)
    problem([...PATH, 'keep_unsent'], `must be at least ledger.max_events, which is ${maxEvents}`);
  if (sink.password !== undefined && sink.user === undefined) problem([...PATH, 'password'], 'needs a user');
  if (
    sink.password !== undefined &&
    sink.url.startsWith('http://') &&
    !/^http:\/\/(?:127\.|localhost|\[::1\])/.test(sink.url)
  )
    warn([...PATH, 'url'], 'is http://: the password goes over the network as it is');
  if (sink.ca === undefined) return;
  const ca = files.text(sink.ca);
  if ('error' in ca) problem([...PATH, 'ca'], ca.error);
  else if (!isCertificate(ca.text)) problem([...PATH, 'ca'], 'holds no certificate in PEM form');
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
