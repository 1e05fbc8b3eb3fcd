import { lookup } from 'node:dns';
import { guardedLookup } from '../../lib/address/guarded-lookup.ts';

/** The system's way to find a host, which leads to no link-local address and no metadata service. */
export const systemLookup = guardedLookup((host, done) =>
  lookup(host, { all: true }, (error, found) => done(error, found)),
);
