import type { ClientDialect } from '../core/dialect.ts';
import type { GatewayError } from '../core/error.ts';
import type { LocalResponse } from '../core/http.ts';
import { errorResponse } from '../stations/wrap/error-response.ts';
import { shownIdOf } from './arrival.ts';
import type { FlowOptions } from './flow-options.ts';
import { answerHeaders, refusalHeaders } from './response-heads.ts';

/** An error as a whole answer, for a request that is known or for one whose head made no sense. */
export function createRefusal(client: ClientDialect): FlowOptions['refusal'] {
  return (subject, error: GatewayError, closing = null): LocalResponse => {
    if ('trail' in subject) return errorResponse(subject.dialect, error, answerHeaders(subject, closing));
    const shown = subject.head === null ? '' : shownIdOf(subject.head, '');
    return errorResponse(client, error, refusalHeaders(shown));
  };
}
