import type { Budgets } from '../../core/snapshot.ts';
import type { ConfigDocument } from '../schema/document.ts';

const BASE64_SECRET = 'whsec_';

export function compileBudgets({ budgets }: ConfigDocument): Budgets {
  return {
    alertsAt: [...new Set(budgets.alerts_at)].toSorted((a, b) => a - b),
    channels: new Map(
      budgets.channels.map((channel) => [
        channel.name,
        {
          name: channel.name,
          url: channel.url,
          secret: secretBytes(channel.secret),
          timeoutMs: channel.timeout,
          allowLinkLocal: channel.allow_link_local,
        },
      ]),
    ),
    defaultChannels: budgets.default_channels ?? budgets.channels.map((channel) => channel.name),
  };
}

/** The key of a signature, in the form of the Standard Webhooks specification or as plain text. */
function secretBytes(text: string): Uint8Array {
  if (!text.startsWith(BASE64_SECRET)) return new TextEncoder().encode(text);
  return new Uint8Array(Buffer.from(text.slice(BASE64_SECRET.length), 'base64'));
}
