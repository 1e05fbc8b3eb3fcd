import net from 'node:net';

/** What a peer said on one connection, byte for byte. */
export interface RawExchange {
  readonly text: string;
  /** Of the first answer; 0 when there was none. */
  readonly status: number;
  /** Statuses of every answer on this connection, interim ones left out. */
  readonly statuses: readonly number[];
  /** Body of the first answer, as far as it came. */
  readonly body: string;
  readonly closed: boolean;
}

export interface RawExchangeOptions {
  readonly port: number;
  /** Each is one write. */
  readonly writes: readonly (string | Buffer)[];
  /** Half-close after the last write. Default: false. */
  readonly end?: boolean;
  /** Ends when the peer closes, when `until` holds, or after so long. Default: 2000. */
  readonly timeoutMs?: number;
  /** Default: one whole answer is there. */
  readonly until?: (text: string) => boolean;
}

/** Writes bytes to a socket and reads what comes back. For what no HTTP client would send. */
export function rawExchange(options: RawExchangeOptions): Promise<RawExchange> {
  const { port, writes, end = false, timeoutMs = 2000, until = hasWholeAnswer } = options;
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let done = false;
    const finish = (closed: boolean): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      socket.destroy();
      resolve(read(Buffer.concat(parts).toString('latin1'), closed));
    };
    const timer = setTimeout(() => finish(false), timeoutMs);
    socket.on('connect', () => {
      for (const bytes of writes) socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
      if (end) socket.end();
    });
    socket.on('data', (data: Buffer) => {
      parts.push(data);
      if (until(Buffer.concat(parts).toString('latin1'))) finish(false);
    });
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
  });
}

function hasWholeAnswer(text: string): boolean {
  const answer = text.replace(/^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '');
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const head = answer.slice(0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return answer.length >= headEnd + 4 + Number(length);
  if (/\r\ntransfer-encoding: chunked/i.test(head)) return answer.endsWith('0\r\n\r\n');
  return false;
}

function read(text: string, closed: boolean): RawExchange {
  const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) [A-Z]/g)]
    .map((match) => Number(match[1]))
    .filter((status) => status >= 200 || status === 101);
  const answer = text.replace(/^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '');
  const headEnd = answer.indexOf('\r\n\r\n');
  return {
    text,
    status: statuses[0] ?? 0,
    statuses,
    body: headEnd < 0 ? '' : answer.slice(headEnd + 4),
    closed,
  };
}
