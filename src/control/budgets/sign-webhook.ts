import { createHmac } from 'node:crypto';
import type { HeaderPair } from '../../core/http.ts';

/**
 * The headers of a signed message, by the Standard Webhooks specification: `webhook-signature` is `v1,` and the base64 of
 * HMAC-SHA256 over `<id>.<timestamp>.<body>`. Receivers refuse old timestamps and take an id once.
 * @param time - Unix milliseconds.
 */
export function signWebhook({
  id,
  time,
  body,
  secret,
}: {
  readonly id: string;
  readonly time: number;
  readonly body: string;
  readonly secret: Uint8Array;
}): readonly HeaderPair[] {
  const timestamp = String(Math.floor(time / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return [
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', `v1,${signature}`],
  ];
}
