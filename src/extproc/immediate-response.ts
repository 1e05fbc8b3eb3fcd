import type { LocalResponse } from '../core/http.ts';
import type { Mutation } from '../core/mutation.ts';
import type { ProcessingResponse } from './codec/processing-response.ts';

/** What the response code details of our own answers begin with, so that Envoy's `local_reply_config` leaves them alone. */
export const OWN_DETAILS = 'tokenlat_';

/** An answer of ours in place of the upstream's. */
export function immediateResponse(response: LocalResponse, metadata?: Mutation['metadata']): ProcessingResponse {
  return {
    kind: 'immediate_response',
    response: { ...response, details: `${OWN_DETAILS}${response.details}` },
    ...(metadata === undefined ? {} : { metadata }),
  };
}
