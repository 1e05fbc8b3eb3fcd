import { createHash } from 'node:crypto';
import type { Admin } from '../../core/admin-settings.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

export function compileAdmin({ admin }: ConfigDocument, files: FileReader): Admin | null {
  if (admin === undefined) return null;
  const { address, port, tls, tokens, oidc } = admin;
  return {
    address,
    port,
    tls:
      tls === undefined
        ? null
        : {
            cert: files.resolve(tls.cert),
            key: files.resolve(tls.key),
            clientCa: tls.client_ca === undefined ? null : files.resolve(tls.client_ca),
          },
    tokens: tokens.map((token) => ({
      name: token.name,
      sha256: tokenHash(token),
      role: token.role,
      tenant: token.tenant ?? null,
      expiresAt: token.expires_at === undefined ? null : Date.parse(token.expires_at),
    })),
    oidc: oidc === undefined ? null : { globalTenants: oidc.global_tenants },
  };
}

/** What is kept of a token, however it was given. */
export function tokenHash({
  sha256,
  token,
}: {
  readonly sha256?: string | undefined;
  readonly token?: string | undefined;
}): string {
  return (
    sha256 ??
    createHash('sha256')
      .update(token ?? '')
      .digest('hex')
  );
}
