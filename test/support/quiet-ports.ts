import net from 'node:net';

/** Below the range from which the system takes ports for connections that go out, so that none of those comes in between. */
const RANGE = { from: 12_000, to: 30_000 } as const;

/** As many different free ports on loopback as asked for. */
export async function quietPorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
