import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrived, Authenticated, Received } from '../core/context.ts';
import { type ErrorCode, GatewayError } from '../core/error.ts';
import type { JobDesk } from '../core/ports/job-desk.ts';
import { forKnownModels } from './known-models.ts';

const asking = (models: readonly string[]) =>
  ({
    principal: { models },
    request: { model: 'none' },
    config: { aliases: new Map() },
  }) as unknown as Arrived & Authenticated & Received;

async function outcomeOf(code: ErrorCode | null, models: readonly string[]): Promise<string> {
  const desk = { take: async () => ({ status: 202 }) } as unknown as JobDesk;
  const routeOf = (): void => {
    if (code !== null) throw new GatewayError(code, 'No.');
  };
  return await forKnownModels(desk, routeOf)
    .take(asking(models))
    .then(
      ({ status }) => String(status),
      (reason: unknown) => (reason as GatewayError).code,
    );
}

test('a job for a model that does not exist is refused at once; what may be otherwise later, or is not theirs to know, is left', async () => {
  assert.equal(await outcomeOf('model_not_found', ['*']), 'model_not_found');
  assert.equal(await outcomeOf('model_not_found', ['other']), '202', 'the desk refuses it');
  assert.equal(await outcomeOf('no_candidate', ['*']), '202');
  assert.equal(await outcomeOf(null, ['*']), '202');
});
