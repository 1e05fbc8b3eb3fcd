import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signWebhook } from './sign-webhook.ts';

/** The example of the Standard Webhooks specification's reference libraries. */
const SECRET = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

test('signs as the specification says', () => {
  const headers = signWebhook({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    time: 1_614_265_330_999,
    body: '{"test": 2432232314}',
    secret: SECRET,
  });
  assert.deepEqual(headers, [
    ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
    ['webhook-timestamp', '1614265330'],
    ['webhook-signature', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
  ]);
});

test('id, time, body and secret each change the signature', () => {
  const base = { id: 'a', time: 1_000_000, body: '{}', secret: SECRET };
  const all = [
    base,
    { ...base, id: 'b' },
    { ...base, time: 2_000_000 },
    { ...base, body: '{ }' },
    { ...base, secret: Buffer.from('x') },
  ];
  assert.equal(new Set(all.map((each) => signWebhook(each)[2]?.[1])).size, all.length);
});
