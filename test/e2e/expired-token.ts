import { SignJWT } from 'jose';
import { TEST_ISSUER, TEST_SECRET } from '../support/gateway.ts';

/** A token of the test issuer that was good until the year 2001. */
export function expiredToken(): Promise<string> {
  return new SignJWT({ sub: 'user-1', tenant: 'acme', models: ['*'] })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(TEST_ISSUER)
    .setIssuedAt(999_999_000)
    .setExpirationTime(1_000_000_000)
    .sign(Buffer.from(TEST_SECRET));
}
