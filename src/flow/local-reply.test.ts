import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { answerHead } from './flow-kit.test.ts';
import { LOCAL_REPLY_HEADER, localReplyError, wasSent } from './local-reply.ts';

const told = (status: number, details: string) => localReplyError(answerHead(status, [[LOCAL_REPLY_HEADER, details]]));

test("an upstream's own answer is no reply of the proxy, whatever its status", () => {
  for (const status of [200, 429, 502, 503, 504]) assert.equal(localReplyError(answerHead(status)), null);
});

test('what the proxy says is told as what befell the model service', () => {
  const cases: readonly (readonly [number, string, string, number])[] = [
    [504, 'response_timeout', 'upstream_timeout', 504],
    [408, 'stream_idle_timeout', 'upstream_timeout', 504],
    [503, 'upstream_reset_before_response_started{connection_timeout}', 'upstream_timeout', 504],
    [503, 'no_healthy_upstream', 'upstream_unreachable', 503],
    [503, '', 'upstream_unreachable', 503],
    [502, 'upstream_reset_before_response_started{protocol_error}', 'upstream_unreachable', 503],
    [413, 'request_payload_too_large', 'upstream_error', 413],
    [404, 'route_not_found', 'upstream_error', 404],
    [200, 'direct_response', 'upstream_error', 502],
    [302, 'redirect', 'upstream_error', 502],
  ];
  for (const [status, details, code, shown] of cases) {
    const error = told(status, details);
    assert.deepEqual([error?.code, error?.status], [code, shown], `${status} ${details}`);
  }
});

test('whatever the proxy says, the client gets an error and none of its words', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.stringMatching(/^[a-z_{}0-9]{4,30}$/), (status, details) => {
      const error = told(status, `secret_${details}`);
      assert.ok(error !== null && error.status >= 400 && error.source === 'model_service');
      assert.doesNotMatch(JSON.stringify(error), /secret/);
    }),
  );
});

test('the proxy tells an upstream that was never reached from one that broke', () => {
  const sent = (details: string) => wasSent(answerHead(503, [[LOCAL_REPLY_HEADER, details]]));
  const reset = (reason: string) => sent(`upstream_reset_before_response_started{${reason}}`);
  for (const reason of ['connection_termination', 'remote_reset', 'protocol_error']) assert.equal(reset(reason), true);
  for (const reason of [
    'remote_connection_failure|delayed_connect_error:_Connection_refused',
    'local_connection_failure',
    'connection_timeout',
    'overflow',
    'remote_refused_stream_reset',
  ])
    assert.equal(reset(reason), false, reason);
  for (const details of ['response_timeout', 'no_healthy_upstream', '']) assert.equal(sent(details), null, details);
  assert.equal(wasSent(answerHead(503)), null);
});
