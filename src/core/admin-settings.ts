export type AdminRole = 'viewer' | 'operator' | 'admin';

/** A secret that opens the admin API, known by its SHA-256 (hex) only. */
export interface AdminToken {
  readonly name: string;
  readonly sha256: string;
  readonly role: AdminRole;
  /** null = for all tenants. */
  readonly tenant: string | null;
  /** Unix milliseconds; null = never. */
  readonly expiresAt: number | null;
}

/** The admin API's own listener and who may use it. */
export interface Admin {
  readonly address: string;
  readonly port: number;
  /** Paths of PEM files; `clientCa`: clients must show a certificate that it signed. */
  readonly tls: { readonly cert: string; readonly key: string; readonly clientCa: string | null } | null;
  readonly tokens: readonly AdminToken[];
  /** Tokens of the issuers open it by their scopes; null = they do not. Those of `globalTenants` for all tenants. */
  readonly oidc: { readonly globalTenants: readonly string[] } | null;
}
