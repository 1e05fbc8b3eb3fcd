import { GatewayError } from '../../core/error.ts';

const REALM = 'Bearer realm="tokenlat"';

/** 401: nothing that we could check was sent (RFC 6750 section 3: no error code then). */
export function missingCredentials(): GatewayError {
  return new GatewayError(
    'missing_credentials',
    'You did not provide an API key. Send it as `Authorization: Bearer <key>`.',
    { headers: [['www-authenticate', REALM]] },
  );
}

/** 401: one text for every credential that does not hold, so that an answer tells nothing about why. */
export function invalidCredentials(): GatewayError {
  return new GatewayError('invalid_credentials', 'Incorrect API key or token provided.', {
    headers: [['www-authenticate', `${REALM}, error="invalid_token"`]],
  });
}

/** 401: signed by the right key and good in all else, but past its `exp`: the one thing a client can mend by itself. */
export function expiredCredentials(): GatewayError {
  return new GatewayError('expired_credentials', 'The token has expired.', {
    headers: [['www-authenticate', `${REALM}, error="invalid_token", error_description="The token expired"`]],
  });
}

/** 503: the keys to check with are not there, or are too old to be believed. */
export function providerUnavailable(): GatewayError {
  return new GatewayError('identity_provider_unavailable', 'The credential cannot be checked at the moment.', {
    retryAfterMs: 1000,
  });
}
