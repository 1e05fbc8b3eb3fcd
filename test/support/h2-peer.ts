import { duplexPair } from 'node:stream';
import type { Socket } from 'node:net';
import { H2Connection, type ConnectionOptions } from '../../src/extproc/h2/connection.ts';
import { PREFACE } from '../../src/extproc/h2/frame.ts';

/** One frame as it came, or as it goes out. */
export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame's bytes. `length` may lie. */
export function h2Frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

/** Fields as HPACK literals without an index. */
export function hpackBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0]),
      Buffer.from([name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  );
}

export const REQUEST_FIELDS = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/a'],
  [':authority', 'x'],
] as const;

export const GREETING = Buffer.concat([PREFACE, h2Frame(4, 0, 0)]);

/** Cuts bytes into frames; what is not whole is left out. */
export function framesOf(bytes: Buffer): readonly RawFrame[] {
  const frames: RawFrame[] = [];
  for (let at = 0; bytes.length - at >= 9;) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({
      type: bytes[at + 3] ?? 0,
      flags: bytes[at + 4] ?? 0,
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, end),
    });
    at = end;
  }
  return frames;
}

/** A connection of ours, and the other side of its socket as bytes. */
export class H2Peer {
  readonly connection: H2Connection;
  readonly events: string[] = [];
  readonly faults: unknown[] = [];
  isClosed = false;
  readonly #side: ReturnType<typeof duplexPair>[0];
  #got: Buffer = Buffer.alloc(0);

  constructor(options: Partial<ConnectionOptions> = {}) {
    const [side, other] = duplexPair();
    this.#side = side;
    side.on('data', (bytes: Buffer) => {
      this.#got = Buffer.concat([this.#got, bytes]);
    });
    side.on('error', () => {});
    side.on('end', () => side.end());
    this.connection = new H2Connection({
      socket: other as unknown as Socket,
      maxStreams: 100,
      now: () => performance.now(),
      onRequest: (stream, head) => {
        this.events.push(`${stream.id} ${head.method} ${head.path}`);
        return {
          onData: (_bytes, start, end) => {
            this.events.push(`${stream.id} data ${end - start}`);
            stream.credit(end - start);
          },
          onEnd: () => this.events.push(`${stream.id} end`),
          onDrain: () => {},
          onClose: () => this.events.push(`${stream.id} close`),
        };
      },
      onFault: (reason) => this.faults.push(reason),
      onClose: () => {
        this.isClosed = true;
      },
      ...options,
    });
  }

  /** What came back so far. */
  get got(): readonly RawFrame[] {
    return framesOf(this.#got);
  }

  say(...bytes: readonly Buffer[]): void {
    for (const one of bytes) this.#side.write(one);
  }

  /** Lets everything that is under way arrive. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** The code of the last GOAWAY; null without one. */
  get goaway(): number | null {
    return this.got.findLast(({ type }) => type === 7)?.payload.readUInt32BE(4) ?? null;
  }

  /** The code with which a stream was reset; null when it was not. */
  reset(stream: number): number | null {
    return this.got.find((frame) => frame.type === 3 && frame.stream === stream)?.payload.readUInt32BE(0) ?? null;
  }

  destroy(): void {
    this.connection.destroy();
    this.#side.destroy();
  }
}
