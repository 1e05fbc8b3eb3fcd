import { lookup as systemLookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { formatMicroUnits } from '../../core/money.ts';
import type { BudgetAlert } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Channel } from '../../core/snapshot.ts';
import { isLinkLocal } from '../../lib/address/address.ts';
import { guardedLookup, linkLocalRefusal, type Resolve } from '../../lib/address/guarded-lookup.ts';
import { signWebhook } from './sign-webhook.ts';

/** Delivers an alert to a channel; rejects when it was not taken. */
export type SendAlert = (channel: Channel, alert: BudgetAlert) => Promise<void>;

const system: Resolve = (host, done) => systemLookup(host, { all: true }, (error, found) => done(error, found));

/** The body of a message: amounts as decimal text. */
export function alertBody(alert: BudgetAlert): string {
  const { id, budget, tenant, businessLine, period, percent, amount, spent, currency, protecting, time } = alert;
  return JSON.stringify({
    type: 'budget.alert',
    timestamp: new Date(time).toISOString(),
    data: {
      id,
      budget,
      tenant,
      business_line: businessLine,
      period,
      percent,
      amount: formatMicroUnits(amount),
      spent: formatMicroUnits(spent),
      currency,
      cost_protection: protecting,
    },
  });
}

/**
 * Makes the sender. One POST, signed; any 2xx is taken for a yes and anything else, redirects too, for a no. What the
 * receiver writes is not read.
 */
export function createSendWebhook({
  clock,
  resolve = system,
}: {
  readonly clock: Pick<Clock, 'time'>;
  readonly resolve?: Resolve;
}): SendAlert {
  return (channel, alert) => {
    const url = new URL(channel.url);
    const host = url.hostname.replaceAll(/^\[|\]$/g, '');
    // An address in numbers is never looked up.
    if (!channel.allowLinkLocal && isLinkLocal(host)) return Promise.reject(linkLocalRefusal(host));
    const body = alertBody(alert);
    const signed = signWebhook({ id: alert.id, time: clock.time(), body, secret: channel.secret });
    const request = (url.protocol === 'https:' ? https : http).request(url, {
      method: 'POST',
      agent: false,
      signal: AbortSignal.timeout(channel.timeoutMs),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'TokenLat',
        ...Object.fromEntries(signed),
      },
      ...(channel.allowLinkLocal || net.isIP(host) !== 0 ? {} : { lookup: guardedLookup(resolve) }),
    });
    return outcome(request, body);
  };
}

function outcome(request: http.ClientRequest, body: string): Promise<void> {
  return new Promise((done, fail) => {
    request.once('response', (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      if (statusCode >= 200 && statusCode < 300) done();
      else fail(new Error(`answered ${statusCode}`));
    });
    request.once('error', fail);
    // Errors after the answer concern nobody.
    request.on('error', () => {});
    request.end(body);
  });
}
