import { GatewayError } from '../core/error.ts';
import type { LocalResponse } from '../core/http.ts';
import type { Json } from '../core/json.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Principal } from '../core/principal.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Target } from './endpoints.ts';
import type { GrowingContext } from './walk.ts';

export interface ServicesOptions {
  /** May `principal` call `name`? */
  readonly allowed: (principal: Principal, name: string, config: Snapshot) => boolean;
  readonly log: Log;
}

/** Who asks. Throws `missing_credentials` where nobody said so. */
export function callerOf({ principal }: Pick<GrowingContext, 'principal'>): Principal {
  if (principal === undefined) throw new GatewayError('missing_credentials', 'You did not provide an API key.');
  return principal;
}

/** Endpoints that we answer ourselves, for a caller that is known. */
export function createServices({ allowed, log }: ServicesOptions) {
  return (ctx: GrowingContext, target: Exclude<Target, { kind: 'model' | 'job' }>): LocalResponse => {
    const { config } = ctx;
    const principal = callerOf(ctx);
    const callable = (name: string): boolean => allowed(principal, name, config);
    switch (target.kind) {
      case 'list-models':
        return json(200, { object: 'list', data: modelNames(config).filter(callable).map(modelObject) });
      case 'show-model':
        if (!modelNames(config).includes(target.model) || !callable(target.model)) {
          throw new GatewayError(
            'model_not_found',
            `The model '${target.model}' does not exist or is not yours to use.`,
            {
              param: 'model',
            },
          );
        }
        return json(200, modelObject(target.model));
      case 'disabled':
        log.warn('audit: refused endpoint', {
          request_id: ctx.shownId,
          tenant: principal.tenant,
          subject: principal.subject,
          path: target.path.slice(0, 256),
        });
        throw new GatewayError('endpoint_disabled', 'This endpoint is disabled by the operator of this gateway.');
    }
  };
}

/** Every name that a client may ask for: models that are in service, their aliases, names that routes take. */
function modelNames(config: Snapshot): string[] {
  const inService = [...config.models.values()].filter((model) => model.stage !== 'retired').map((model) => model.name);
  const aliases = [...config.aliases.keys()];
  const virtual = config.routes.flatMap((route) => route.models).filter((name) => !name.includes('*'));
  return [...new Set([...inService, ...aliases, ...virtual])].toSorted();
}

function modelObject(id: string): Json {
  return { id, object: 'model', created: 0, owned_by: 'tokenlat' };
}

function json(status: number, value: Json): LocalResponse {
  return {
    status,
    headers: [['content-type', 'application/json']],
    body: Buffer.from(JSON.stringify(value)),
    details: 'answered_by_gateway',
  };
}
