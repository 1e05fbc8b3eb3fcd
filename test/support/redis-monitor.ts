import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** One command that a client of Redis sent. */
export interface SentCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/**
 * Tells of every command that clients send, those of scripts left out, until the function that it gives is called. ioredis has a monitor
 * too, but it fails when another client's command comes in one read with the answer to MONITOR.
 * @param socket - Path of Redis' unix socket.
 */
export async function monitorRedis(socket: string, onCommand: (command: SentCommand) => void): Promise<() => void> {
  const connection = connect(socket);
  const lines = createInterface({ input: connection });
  await new Promise<void>((resolve, reject) => {
    connection.once('error', reject);
    lines.on('line', (line) => {
      if (line === '+OK') resolve();
      else if (line.startsWith('-')) reject(new Error(line.slice(1)));
      else if (!/^\+[\d.]+ \[\d+ lua\]/.test(line)) {
        const [name = '', ...args] = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text);
        onCommand({ name: name.toLowerCase(), args });
      }
    });
    connection.write('MONITOR\r\n');
  });
  return () => connection.destroy();
}
