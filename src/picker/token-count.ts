const EVENT = Buffer.from('data:');
const TAIL = 4096;
const USAGE = /"completion_tokens"\s*:\s*(\d{1,9})/g;

/** How many tokens an answer has, told cheaply: by its usage where it says one near its end, else an event of a stream is one. */
export class TokenCount {
  #events = 0;
  #tail = '';

  add(chunk: Buffer): void {
    for (let at = chunk.indexOf(EVENT); at !== -1; at = chunk.indexOf(EVENT, at + EVENT.length)) this.#events += 1;
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - TAIL))).slice(-TAIL);
  }

  count(): number {
    const told = [...this.#tail.matchAll(USAGE)].at(-1)?.[1];
    return told === undefined ? this.#events : Number(told);
  }
}
