/** Where a demo that runs on is reached. */
export interface Reachable {
  /** The base address of the API, with `/v1`. */
  readonly url: string;
  /** The address of the health checks and metrics. */
  readonly ops: string;
  readonly token: string;
}

/** What to paste into another terminal to try a demo that runs on: variables, then requests that use them. */
export function invitation({ url, ops, token }: Reachable): string {
  return [
    'Still running; Ctrl-C ends it. In another terminal:',
    '',
    `export URL=${url.replace(/\/v1$/, '')} KEY=${token}`,
    '',
    `curl "$URL/v1/chat/completions" -H "authorization: Bearer $KEY" -H 'content-type: application/json' \\`,
    `  -d '{"model": "demo-chat", "stream": true, "messages": [{"role": "user", "content": "Hello there"}]}'`,
    `curl ${ops}/metrics`,
    '',
  ].join('\n');
}
