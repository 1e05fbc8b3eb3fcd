import type { AdminRole } from '../../core/admin-settings.ts';

/** Who uses the admin API. */
export interface Caller {
  /** Name of the token, or subject of the identity provider. */
  readonly name: string;
  readonly via: 'token' | 'oidc';
  readonly role: AdminRole;
  /** The only tenant that it sees; null = all. */
  readonly tenant: string | null;
}

const RANK: Readonly<Record<AdminRole, number>> = { viewer: 1, operator: 2, admin: 3 };

/** May somebody of role `has` do what needs `needs`? */
export function roleCovers(has: AdminRole, needs: AdminRole): boolean {
  return RANK[has] >= RANK[needs];
}

/** Names a caller among all callers, for what is kept of each. */
export function callerKey({ via, name, tenant, role }: Caller): string {
  return JSON.stringify([via, name, tenant, role]);
}
