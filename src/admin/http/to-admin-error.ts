import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import { JsonError } from '../../lib/json-span/json-error.ts';
import { AdminError } from './admin-error.ts';
import type { AdminErrorCode } from './admin-error.ts';

/** Refusals of the HTTP library, by its codes; its own texts may quote the request and are not passed on. */
const LIBRARY: Readonly<Record<string, readonly [AdminErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['request_too_large', 'The body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'The content type must be application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_value', 'The body does not have the length that was announced.'],
  FST_ERR_BAD_URL: ['invalid_value', 'The path is not well-formed.'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_value', 'A part of the path is too long.'],
  FST_ERR_ROUTE_METHOD_NOT_SUPPORTED: ['method_not_allowed', 'This method is not known here.'],
};

/** Anything thrown as a refusal; what nobody foresaw becomes `internal_error`, with the cause kept for the log. */
export function toAdminError(reason: unknown): AdminError {
  if (reason instanceof AdminError) return reason;
  if (reason instanceof StoreUnavailable)
    return new AdminError('store_unavailable', 'The store does not answer right now.', { cause: reason });
  if (reason instanceof JsonError) return new AdminError('invalid_json', reason.message, { param: reason.path });
  const code = (reason as { readonly code?: unknown } | null | undefined)?.code;
  const known = typeof code === 'string' && Object.hasOwn(LIBRARY, code) ? LIBRARY[code] : undefined;
  if (known !== undefined) return new AdminError(known[0], known[1]);
  return new AdminError('internal_error', 'The server failed to handle this request.', { cause: reason });
}
