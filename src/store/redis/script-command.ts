import { Command } from 'ioredis';

/** UTF-16 units up to which a loop counts bytes faster than a call out of the engine. */
const SHORT = 48;

/**
 * `EVALSHA` as RESP (https://redis.io/docs/latest/develop/reference/protocol-spec/). The client's own way counts the bytes of
 * every argument by a call out of the engine, and most of ours are short names and numbers.
 */
export class ScriptCommand extends Command {
  constructor(hash: string, keys: readonly string[], args: readonly (string | number)[]) {
    super('evalsha', [hash, keys.length, ...keys, ...args], { replyEncoding: 'utf8' });
  }

  override toWritable(): string {
    let text = `*${this.args.length + 1}\r\n$7\r\nevalsha\r\n`;
    for (const arg of this.args) {
      const value = String(arg);
      text += `$${bytesOf(value)}\r\n${value}\r\n`;
    }
    return text;
  }
}

function bytesOf(text: string): number {
  if (text.length > SHORT) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return Buffer.byteLength(text);
  return text.length;
}
