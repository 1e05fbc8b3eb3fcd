/** Whose records and ledger hold what is the gateway's own. No token and no configuration can name it. */
export const GATEWAY_TENANT = '~gateway';
