import { createServer, type AddressInfo, type Server } from 'node:net';

/** As many different free ports on loopback as asked for; the first one is `preferred` where that is free. */
export async function freePorts(count: number, preferred?: number): Promise<readonly number[]> {
  const first = preferred === undefined ? null : await listening(preferred).catch(() => null);
  const others = Array.from({ length: first === null ? count : count - 1 }, () => listening(0));
  const servers = [...(first === null ? [] : [first]), ...(await Promise.all(others))];
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listening(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
