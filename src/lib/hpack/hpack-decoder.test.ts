import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HpackDecoder } from './hpack-decoder.ts';
import { HpackError } from './hpack-error.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const decoder = (tableBytes = 4096, listBytes = 1 << 20): HpackDecoder => new HpackDecoder({ tableBytes, listBytes });
const pairs = (made: HpackDecoder, bytes: Buffer): string[] =>
  made.decode(bytes).fields.map(({ name, value }) => `${name}: ${value}`);

/** RFC 7541, appendix C.2: one field each, and what the table holds then. */
const SINGLE: readonly (readonly [string, string, number])[] = [
  ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key: custom-header', 55],
  ['040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path', 0],
  ['1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret', 0],
  ['82', ':method: GET', 0],
];

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
];
const date = (second: number): string => `date: Mon, 21 Oct 2013 20:13:${second} GMT`;
const LOCATION = 'location: https://www.example.com';
const COOKIE = 'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
const RESPONSES = [
  [':status: 302', 'cache-control: private', date(21), LOCATION],
  [':status: 307', 'cache-control: private', date(21), LOCATION],
  [':status: 200', 'cache-control: private', date(22), LOCATION, 'content-encoding: gzip', COOKIE],
];

/** RFC 7541, appendices C.3 to C.6: blocks of one connection, and what the table holds after each. */
const SEQUENCES: readonly {
  readonly name: string;
  readonly table: number;
  readonly blocks: readonly string[];
  readonly lists: readonly (readonly string[])[];
  readonly sizes: readonly number[];
}[] = [
  {
    name: 'C.3, requests without Huffman',
    table: 4096,
    blocks: [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    lists: REQUESTS,
    sizes: [57, 110, 164],
  },
  {
    name: 'C.4, requests with Huffman',
    table: 4096,
    blocks: [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
    lists: REQUESTS,
    sizes: [57, 110, 164],
  },
  {
    name: 'C.5, responses without Huffman, with evictions',
    table: 256,
    blocks: [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ],
    lists: RESPONSES,
    sizes: [222, 222, 215],
  },
  {
    name: 'C.6, responses with Huffman, with evictions',
    table: 256,
    blocks: [
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ],
    lists: RESPONSES,
    sizes: [222, 222, 215],
  },
];

test('the single fields of RFC 7541, C.2', () => {
  for (const [block, wanted, size] of SINGLE) {
    const made = decoder();
    assert.deepEqual(pairs(made, hex(block)), [wanted]);
    assert.equal(made.tableSize, size, wanted);
  }
});

for (const { name, table, blocks, lists, sizes } of SEQUENCES) {
  test(`the examples of RFC 7541, ${name}`, () => {
    const made = decoder(table);
    for (const [index, block] of blocks.entries()) {
      assert.deepEqual(pairs(made, hex(block)), lists[index]);
      assert.equal(made.tableSize, sizes[index]);
    }
  });
}

test('blocks that break a rule are refused', () => {
  const broken: readonly (readonly [string, string])[] = [
    ['index 0', '80'],
    ['an index past both tables', 'be'],
    ['a name past both tables', '7f 00 01 61'],
    ['a cut integer', 'ff'],
    ['an endless integer', 'ff ff ff ff ff ff ff ff ff ff 7f'],
    ['an integer of many zeros', `ff ${'80 '.repeat(40)} 00`],
    ['a cut name', '00 05 61'],
    ['a cut value', '00 01 61 05 62'],
    ['a string past the block', '00 01 61 7f ff ff 7f'],
    ['a table larger than announced', '3f e2 1f'],
    ['a change of the table behind a field', '82 3e'],
    ['EOS inside a Huffman string', '00 01 61 85 ff ff ff ff ff'],
    ['padding of eight bits', '00 01 61 82 1f ff'],
    ['padding that is not ones', '00 01 61 81 18'],
  ];
  for (const [what, block] of broken) assert.throws(() => decoder().decode(hex(block)), HpackError, what);
});

test('a table may shrink and grow within what was announced', () => {
  const made = decoder();
  made.decode(hex(SINGLE[0]![0]));
  assert.equal(made.tableSize, 55);
  assert.deepEqual(pairs(made, hex('20 3f e1 1f 82')), [':method: GET']);
  assert.equal(made.tableSize, 0);
  assert.throws(() => made.decode(hex('be')), HpackError);
});

test('a list past its limit is cut, however short its block, and the table goes on', () => {
  const made = decoder(4096, 10_000);
  const big = Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xd1, 0x0f]), Buffer.alloc(2000, 'x')]);
  made.decode(Buffer.concat([big.subarray(0, 3), Buffer.from([0x7f, 0xd1, 0x0e]), Buffer.alloc(2000, 'x')]));
  const bomb = Buffer.concat([Buffer.alloc(60_000, 0xbe), hex(SINGLE[0]![0])]);
  const { fields, isCut } = made.decode(bomb);
  assert.equal(isCut, true);
  assert.equal(fields.length, 4);
  assert.deepEqual(pairs(made, hex('be')), ['custom-key: custom-header']);
});

test('fields say whether their characters are allowed', () => {
  const of = (name: string, value: string): boolean | undefined =>
    decoder().decode(
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name, 'latin1'),
        Buffer.from([value.length]),
        Buffer.from(value, 'latin1'),
      ]),
    ).fields[0]?.isSound;
  for (const [name, value] of [
    ['a', ''],
    ['x-a_b~1', 'a b\tc'],
    [':path', '/'],
    ['a', '\u00ff\u0080'],
  ] as const)
    assert.equal(of(name, value), true, name);
  for (const [name, value] of [
    ['', 'a'],
    [':', 'a'],
    ['A', 'a'],
    ['a b', 'a'],
    ['a:b', 'a'],
    ['a\u0000', 'a'],
    ['\u00e4', 'a'],
    ['a', 'a\nb'],
    ['a', 'a\rb'],
    ['a', 'a\u0000b'],
    ['a', ' a'],
    ['a', 'a\t'],
  ] as const)
    assert.equal(of(name, value), false, JSON.stringify([name, value]));
});

test('random bytes give a list or one clear error', () => {
  const start = fc.constantFrom(0x82, 0x40, 0x00, 0x10, 0x3f, 0x20, 0xbe, 0x7f, 0xff);
  const bytes = fc.uint8Array({ maxLength: 200 });
  const made = decoder(256, 4096);
  fc.assert(
    fc.property(fc.array(fc.tuple(start, bytes), { maxLength: 4 }), (parts) => {
      const block = Buffer.concat(parts.flatMap(([first, rest]) => [Buffer.from([first]), Buffer.from(rest)]));
      for (const one of [made, decoder(256, 4096)]) {
        try {
          const { fields } = one.decode(block);
          assert.ok(fields.reduce((sum, field) => sum + field.size, 0) <= 4096);
        } catch (reason) {
          assert.ok(reason instanceof HpackError, String(reason));
        }
        assert.ok(one.tableSize <= 256);
      }
    }),
    { numRuns: 3000 },
  );
});
