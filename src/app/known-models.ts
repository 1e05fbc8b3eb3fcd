import type { Arrived, Authenticated, Received } from '../core/context.ts';
import { GatewayError } from '../core/error.ts';
import type { JobDesk } from '../core/ports/job-desk.ts';
import { modelAllowed } from '../stations/authenticate/model-allowed.ts';

/**
 * A desk that takes no job for a model that does not exist: its run would end in that refusal. `routeOf`: the route that a request would
 * take; throws what it would be refused with.
 */
export function forKnownModels(desk: JobDesk, routeOf: (ctx: Arrived & Authenticated & Received) => unknown): JobDesk {
  return {
    ...desk,
    async take(ctx) {
      // Who may not use a model does not learn whether it exists: the desk refuses them all alike.
      if (modelAllowed(ctx.principal, ctx.request.model, ctx.config)) refuseUnknown(ctx, routeOf);
      return await desk.take(ctx);
    },
  };
}

function refuseUnknown(
  ctx: Arrived & Authenticated & Received,
  routeOf: (ctx: Arrived & Authenticated & Received) => unknown,
): void {
  try {
    routeOf(ctx);
  } catch (reason) {
    // Any other refusal may be over when the job runs.
    if (reason instanceof GatewayError && reason.code === 'model_not_found') throw reason;
  }
}
