import { deflateSync, gzipSync } from 'node:zlib';

/** A gRPC message frame: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. */
export function frame(body: Uint8Array, flag = 0, length = body.length): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
}

export interface RawCall {
  readonly name: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const garbage = Buffer.alloc(64, 0xa5);

/** Calls that no Envoy makes. None of them may end the process. */
export const RAW_CALLS: readonly RawCall[] = [
  { name: 'gzip garbage', headers: { 'grpc-encoding': 'gzip' }, body: frame(garbage, 1) },
  { name: 'deflate garbage', headers: { 'grpc-encoding': 'deflate' }, body: frame(garbage, 1) },
  { name: 'gzip of nothing', headers: { 'grpc-encoding': 'gzip' }, body: frame(gzipSync(Buffer.alloc(0)), 1) },
  { name: 'gzip cut', headers: { 'grpc-encoding': 'gzip' }, body: frame(gzipSync(garbage).subarray(0, 12), 1) },
  { name: 'gzip bomb', headers: { 'grpc-encoding': 'gzip' }, body: frame(gzipSync(Buffer.alloc(50 << 20)), 1) },
  {
    name: 'deflate bomb',
    headers: { 'grpc-encoding': 'deflate' },
    body: frame(deflateSync(Buffer.alloc(50 << 20)), 1),
  },
  { name: 'compressed without encoding', body: frame(garbage, 1) },
  { name: 'unknown encoding', headers: { 'grpc-encoding': 'zstd' }, body: frame(garbage, 1) },
  { name: 'identity called compressed', headers: { 'grpc-encoding': 'identity' }, body: frame(garbage, 1) },
  { name: 'bad flag', body: frame(garbage, 7) },
  { name: 'length of 4 GiB', body: frame(garbage, 0, 0xffffffff) },
  { name: 'length past the limit', body: frame(garbage, 0, 50 << 20) },
  { name: 'cut message', body: frame(garbage, 0, 1000) },
  { name: 'cut prefix', body: Buffer.from([0, 0]) },
  { name: 'no message', body: Buffer.alloc(0) },
  { name: 'bad proto', body: frame(garbage) },
  { name: 'endless varint', body: frame(Buffer.alloc(64, 0xff)) },
  { name: 'nested groups', body: frame(Buffer.alloc(100_000, 0xfb)) },
  { name: 'empty messages', body: Buffer.concat(Array.from({ length: 10_000 }, () => frame(Buffer.alloc(0)))) },
  { name: 'bad timeout', headers: { 'grpc-timeout': 'soon' }, body: frame(garbage) },
  { name: 'huge timeout', headers: { 'grpc-timeout': '99999999999999H' }, body: frame(garbage) },
  { name: 'zero timeout', headers: { 'grpc-timeout': '0n' }, body: frame(garbage) },
  { name: 'path __proto__', headers: { ':path': '/__proto__' }, body: frame(garbage) },
  { name: 'path constructor', headers: { ':path': '/constructor/prototype' }, body: frame(garbage) },
  { name: 'empty path', headers: { ':path': '/' }, body: frame(garbage) },
  { name: 'bad binary metadata', headers: { 'x-bin': '!!!not base64!!!' }, body: frame(garbage) },
  { name: 'wrong content type', headers: { 'content-type': 'text/plain' }, body: frame(garbage) },
  { name: 'wrong method', headers: { ':method': 'GET' }, body: Buffer.alloc(0) },
  { name: 'wrong level', headers: { 'tokenlat-level': '__proto__' }, body: frame(Buffer.from([0x12, 0])) },
  { name: 'health garbage', headers: { ':path': '/grpc.health.v1.Health/Check' }, body: frame(garbage) },
];
