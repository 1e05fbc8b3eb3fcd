/** An endpoint's URL, taken apart. */
export interface EndpointUrl {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Without a slash at its end; empty for none. */
  readonly basePath: string;
}

/** Reads `http://host:port/base`, or says what is wrong with it. The text itself is not repeated: it may hold a password. */
export function endpointOf(text: string): EndpointUrl | { readonly error: string } {
  if (!URL.canParse(text)) return { error: 'must be a URL such as http://10.0.0.5:8000' };
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { error: 'must begin with http:// or https://' };
  if (url.username !== '' || url.password !== '') return { error: 'must not hold a user or password: use credentials' };
  if (url.search !== '' || url.hash !== '' || text.includes('?') || text.includes('#'))
    return { error: 'must end with its path: no ? and no #' };
  const tls = url.protocol === 'https:';
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port);
  const host = url.hostname.replaceAll(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === '' || port === 0) return { error: 'must name a host and a port from 1 to 65535' };
  return { host, port, tls, basePath: url.pathname.replace(/\/+$/, '') };
}
