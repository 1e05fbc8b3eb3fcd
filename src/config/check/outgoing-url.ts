import { isLinkLocal } from '../../lib/address/address.ts';
import type { Path } from '../problem.ts';
import type { CheckContext } from './finding.ts';

/** A URL that we post to: http or https, without user and password, and not where clouds hand out credentials. */
export function checkOutgoingUrl(
  { problem }: CheckContext,
  { url: text, allow_link_local: allowed }: { readonly url: string; readonly allow_link_local: boolean },
  path: Path,
): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    problem(path, 'must be a URL that begins with http:// or https://');
    return;
  }
  if (url.username !== '' || url.password !== '') problem(path, 'must not hold a user or password');
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  if (isLinkLocal(host) && !allowed)
    problem(path, `${host} is link-local or a metadata service; set allow_link_local: true if that is meant`);
}
