const UNSAFE = /[^\x20-\x7e]/g;

/** The longest header value that we ever emit. */
export const MAX_HEADER_VALUE = 1024;

/**
 * Makes any text fit for a header: visible ASCII, one line, bounded. One CR in one value would cost the whole request
 * (Envoy answers 500), and text from outside must not split headers.
 */
export function headerValue(text: string): string {
  return text.slice(0, MAX_HEADER_VALUE).replace(UNSAFE, '?').trim();
}
