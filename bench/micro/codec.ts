/*
 * What encoding and decoding one ext_proc message costs, in our codec and in @grpc/proto-loader, side by side in one run.
 * Prints one line a message; ends by itself.
 */
import { decodeProcessingRequest } from '../../src/extproc/codec/processing-request.ts';
import { encodeProcessingResponse, type ProcessingResponse } from '../../src/extproc/codec/processing-response.ts';
import { referenceProcess, referenceStruct } from '../../test/support/ext-proc-reference.ts';

const ROUNDS = 5;
const ROUND_MS = 200;

/** Operations a second: the median of some rounds. */
function rate(step: () => unknown): number {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const began = performance.now();
    let count = 0;
    while (performance.now() - began < ROUND_MS) {
      for (let i = 0; i < 50; i++) step();
      count += 50;
    }
    // The first round warms up.
    if (round > 0) rates.push((count * 1000) / (performance.now() - began));
  }
  return rates.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0;
}

function print(name: string, ours: number, theirs: number): void {
  const figures = `${Math.round(ours).toLocaleString('en')} ops/s, proto-loader ${Math.round(theirs).toLocaleString('en')}`;
  console.log(`${name}: ${figures} (x${(ours / theirs).toFixed(1)})`);
}

const headers = Array.from({ length: 25 }, (_, i) => ({
  key: `x-header-number-${i}`,
  raw_value: Buffer.from('v'.repeat(20 + i)),
}));
const requests = {
  'decode request head, 25 headers': {
    request_headers: { headers: { headers } },
    attributes: {
      'envoy.filters.http.ext_proc': referenceStruct({ 'xds.cluster_name': 'b1', 'upstream.address': '10.0.0.1:8000' }),
    },
    protocol_config: { request_body_mode: 4, response_body_mode: 4 },
  },
  'decode body, 16 KiB': { request_body: { body: Buffer.alloc(16_384, 'x'), end_of_stream: true } },
  'decode body, 220 B': { response_body: { body: Buffer.alloc(220, 'x') } },
};
for (const [name, value] of Object.entries(requests)) {
  const wire = referenceProcess.requestSerialize(value);
  print(
    name,
    rate(() => decodeProcessingRequest(wire)),
    rate(() => referenceProcess.requestDeserialize(wire)),
  );
}

const set = [
  ['x-request-id', '0123456789'],
  ['content-type', 'application/json'],
  ['x-route-id', 'online_chat'],
  ['x-tokenlat-model', 'llama-3-8b'],
] as const;
const metadata = { 'tokenlat.usage': { prompt: 12, completion: 40, model: 'llama-3-8b', cost: '0.0001', flag: true } };
const piece = (size: number): ProcessingResponse => ({
  kind: 'response_body',
  change: { body: { kind: 'piece', bytes: Buffer.alloc(size, 'x'), end: false } },
});
const pieceReference = (size: number): object => ({
  response_body: { response: { body_mutation: { streamed_response: { body: Buffer.alloc(size, 'x') } } } },
});
const responses: Readonly<Record<string, readonly [ProcessingResponse, object]>> = {
  'encode head, 4 set, 2 removed, metadata': [
    { kind: 'response_headers', change: { set, remove: ['a', 'content-length'] }, metadata },
    {
      response_headers: {
        response: {
          header_mutation: {
            set_headers: set.map(([key, value]) => ({ header: { key, raw_value: Buffer.from(value) } })),
            remove_headers: ['a', 'content-length'],
          },
        },
      },
      dynamic_metadata: referenceStruct(metadata),
    },
  ],
  'encode piece, 220 B': [piece(220), pieceReference(220)],
  'encode piece, 16 KiB': [piece(16_384), pieceReference(16_384)],
};
for (const [name, [ours, theirs]] of Object.entries(responses)) {
  print(
    name,
    rate(() => encodeProcessingResponse(ours)),
    rate(() => referenceProcess.responseSerialize(theirs)),
  );
}
