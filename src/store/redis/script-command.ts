import { Command } from 'ioredis';

/** UTF-16 units up to which a loop counts bytes faster than a call out of the engine. */
const SHORT = 48;

type Argument = string | number;

/** Keys and arguments that many commands end with, made into text once. */
export interface ScriptEnd {
  readonly keys: readonly string[];
  readonly args: readonly Argument[];
  readonly keysText: string;
  readonly argsText: string;
}

export function scriptEnd(keys: readonly string[], args: readonly Argument[]): ScriptEnd {
  return { keys, args, keysText: textOf(keys), argsText: textOf(args) };
}

/**
 * `EVALSHA` as RESP (https://redis.io/docs/latest/develop/reference/protocol-spec/). The client's own way counts the bytes of
 * every argument by a call out of the engine, and most of ours are short names and numbers.
 */
export class ScriptCommand extends Command {
  readonly #keys: readonly string[];
  readonly #args: readonly Argument[];
  readonly #end: ScriptEnd | undefined;

  constructor(hash: string, keys: readonly string[], args: readonly Argument[], end?: ScriptEnd) {
    // Only what names the command goes into the client's list of arguments: it copies what it is given.
    super('evalsha', [hash, keys.length + (end?.keys.length ?? 0)], { replyEncoding: 'utf8' });
    this.#keys = keys;
    this.#args = args;
    this.#end = end;
  }

  /** A cluster's client finds the node by the first of them. */
  override getKeys(): string[] {
    return [...this.#keys, ...(this.#end?.keys ?? [])];
  }

  override toWritable(): string {
    const end = this.#end;
    const count =
      3 + this.#keys.length + this.#args.length + (end === undefined ? 0 : end.keys.length + end.args.length);
    const head = `*${count}\r\n$7\r\nevalsha\r\n${textOf(this.args as readonly Argument[])}${textOf(this.#keys)}`;
    if (end === undefined) return head + textOf(this.#args);
    return head + end.keysText + textOf(this.#args) + end.argsText;
  }
}

function textOf(values: readonly Argument[]): string {
  let text = '';
  for (const each of values) {
    const value = String(each);
    text += `$${bytesOf(value)}\r\n${value}\r\n`;
  }
  return text;
}

function bytesOf(text: string): number {
  if (text.length > SHORT) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return Buffer.byteLength(text);
  return text.length;
}
