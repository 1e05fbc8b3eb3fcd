import type { Socket } from 'node:net';
import { DEFAULT_WINDOW } from './frame.ts';
import { CONGESTED_BYTES, HOPELESS_BYTES } from './limits.ts';
import { OutBuffer } from './out-buffer.ts';
import { DEFAULT_SETTINGS, type PeerSettings } from './peer-settings.ts';

/** A stream whose bytes may have to wait for the connection. One that waits for its own window is none. */
export interface Waiting {
  /** Sends what may leave, at most one turn's worth. Blocks itself again when more waits for the connection. */
  pump(): void;
}

/** The way out of a connection: what all of its streams write, and which of them wait. */
export class Outlet {
  readonly out = new OutBuffer();
  /** The peer's settings. */
  peer: PeerSettings = DEFAULT_SETTINGS;
  /** Bytes that all streams together may still send. */
  sendWindow = DEFAULT_WINDOW;
  readonly #socket: Socket;
  readonly #blocked = new Set<Waiting>();
  #isPumping = false;
  #isFlushing = false;
  #isOver = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('drain', () => this.pumpAll());
  }

  /** The socket holds more than it should already: what is sent now must wait in its stream. */
  get isCongested(): boolean {
    return this.#socket.writableLength + this.out.size > CONGESTED_BYTES;
  }

  block(stream: Waiting): void {
    this.#blocked.add(stream);
  }

  unblock(stream: Waiting): void {
    this.#blocked.delete(stream);
  }

  /** What is written in one turn of the event loop, whatever woke it, leaves in one piece. */
  flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(this.#flush);
  }

  /** Streams that wait take turns, as far as there is room: each turn sends something, or is the stream's last. */
  pumpAll(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      // Whoever blocks itself again comes again, behind the others.
      for (const stream of this.#blocked) {
        if (this.sendWindow <= 0 || this.isCongested) break;
        this.#blocked.delete(stream);
        stream.pump();
      }
    } finally {
      this.#isPumping = false;
    }
  }

  /** Writes what waits, and nothing after it. */
  end(): void {
    if (this.#isOver) return;
    this.#write();
    this.#isOver = true;
    this.#socket.end();
  }

  /** The socket is gone. */
  stop(): void {
    this.#isOver = true;
    this.#blocked.clear();
  }

  readonly #flush = (): void => {
    this.#isFlushing = false;
    if (this.#isOver) return;
    this.#write();
    if (this.#socket.writableLength > HOPELESS_BYTES) this.#socket.destroy();
  };

  #write(): void {
    const pieces = this.out.take();
    const [only] = pieces;
    if (only === undefined || this.#socket.destroyed) return;
    if (pieces.length === 1) {
      this.#socket.write(only);
      return;
    }
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }
}
