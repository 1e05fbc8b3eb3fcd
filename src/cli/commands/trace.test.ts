import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeTrace } from './trace.ts';

test('tries of a pool show their endpoint; a backend without endpoints of its own leaves it empty', () => {
  const attempt = { backend: 'pool', model: 'm', outcome: 'failed_over', status: 503, reason: 'busy' };
  const text = describeTrace({
    request_id: 'r-1',
    stations: [],
    attempts: [
      { ...attempt, attempt: 1, endpoint: '10.0.0.7:8000', started_ms: 1.25, first_byte_ms: 2.5 },
      { ...attempt, attempt: 2, backend: 'plain', outcome: 'served', started_ms: 3, first_byte_ms: null },
    ],
  });
  assert.match(text, /^attempt +backend +endpoint +model +outcome +status +at ms +head ms +reason$/m);
  assert.match(text, /^ +1 +pool +10\.0\.0\.7:8000 +m +failed_over +503 +1\.25 +2\.5 +busy$/m);
  assert.match(text, /^ +2 +plain +m +served +503 +3 +busy$/m);
});
