import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BILL_MAPPINGS } from './bill-mapping.ts';
import { microOfPico, parseDecimal } from './decimal-money.ts';
import { readBill } from './read-bill.ts';
import { BillError, readCsv } from './read-csv.ts';

const read = (text: string, mapping = BILL_MAPPINGS.generic, utcOffsetMinutes = 0) =>
  readBill(text, { mapping, utcOffsetMinutes, currency: 'USD' });
const HEAD = 'date,model,input_tokens,cached_tokens,output_tokens,cost';

test('CSV: quotes, line ends of any kind, a byte order mark, empty lines', () => {
  const cells = (text: string, separator?: string) => readCsv(text, separator).map((row) => [row.line, ...row.cells]);
  assert.deepEqual(cells('\ufeffa,b\r\n"x, ""y""\nz",2\n\n,\r3'), [
    [1, 'a', 'b'],
    [2, 'x, "y"\nz', '2'],
    [5, '', ''],
    [6, '3'],
  ]);
  assert.deepEqual(cells('a;b,c', ';'), [[1, 'a', 'b,c']]);
  assert.deepEqual(cells(''), []);
  assert.throws(() => cells('a\n"b'), /line 2: a quote is not closed/);
  assert.throws(() => cells('a"b'), BillError);
  assert.throws(() => cells('"a"b'), BillError);
});

test('CSV that was quoted comes back as it was', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ') });
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 })), (rows) => {
      const text = rows.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')).join('\r\n');
      assert.deepEqual(
        readCsv(text).map(({ cells }) => cells),
        rows,
      );
    }),
  );
});

test('amounts are exact to a millionth of a millionth', () => {
  const micro = (text: string) => {
    const amount = parseDecimal(text);
    return amount === null ? null : [microOfPico(amount.pico), amount.decimals];
  };
  assert.deepEqual(micro('0.005615'), [5615, 6]);
  assert.deepEqual(micro('$1,234.50'), [1_234_500_000, 1]);
  assert.deepEqual(micro('-0.8958740000000000'), [-895_874, 6]);
  assert.deepEqual(micro('8.5e-05'), [85, 6]);
  assert.deepEqual(micro('1E2'), [100_000_000, 0]);
  assert.deepEqual(micro('0.0000005'), [1, 7]);
  assert.deepEqual(micro('-0.0000005'), [-1, 7]);
  assert.deepEqual(micro('0.00000049'), [0, 8]);
  for (const odd of ['', 'x', '1,23', '1.2.3', 'NaN', 'Infinity', '0x1', '1e999', '--1'])
    assert.equal(micro(odd), null, odd);
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }), (pico) => {
      const digits = String(pico < 0n ? -pico : pico).padStart(13, '0');
      const text = `${pico < 0n ? '-' : ''}${digits.slice(0, -12)}.${digits.slice(-12)}`;
      assert.equal(parseDecimal(text)?.pico, pico);
    }),
  );
});

test('lines of one day and model are added before they are rounded', () => {
  const { days, decimals } = read(
    `${HEAD}\n2026-06-01,m,10,4,2,0.0000004\n2026-06-01,m,"1,000",0,1,0.0000004\n2026-06-02,m,1,,,\n`,
  );
  assert.deepEqual(days, [
    { day: '2026-06-01', model: 'm', currency: 'USD', input: 1010, cached: 4, output: 3, pico: 800_000n, lines: 2 },
    { day: '2026-06-02', model: 'm', currency: 'USD', input: 1, cached: 0, output: 0, pico: 0n, lines: 1 },
  ]);
  assert.equal(decimals, 7);
});

test('the export of OpenAI, quiet days and all', () => {
  const text = `start_time,end_time,start_time_iso,end_time_iso,model,batch,input_tokens,output_tokens,input_cached_tokens
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,gpt-5-mini,,100,20,40
1759708800,1759795200,2025-10-06T00:00:00+00:00,2025-10-07T00:00:00+00:00,,,,,
`;
  const openai = read(text, BILL_MAPPINGS.openai);
  assert.deepEqual(openai.days, [
    {
      day: '2025-10-05',
      model: 'gpt-5-mini',
      currency: 'USD',
      input: 100,
      cached: 40,
      output: 20,
      pico: null,
      lines: 1,
    },
  ]);
  assert.equal(read(text, BILL_MAPPINGS.openai, -60).days[0]?.day, '2025-10-04');
  const seconds = 'start_time,model,input_tokens,output_tokens\n1759622400,m,1,1';
  assert.equal(read(seconds, BILL_MAPPINGS.openai).days[0]?.day, '2025-10-05');
  assert.equal(read(seconds, BILL_MAPPINGS.openai).days[0]?.cached, null);
});

test('the export of Anthropic, whose input is split by cache', () => {
  const text = `usage_date_utc,model_version,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens
2026-06-01,claude-x,10,20,30,40,5
`;
  const { days } = read(text, BILL_MAPPINGS.anthropic);
  assert.deepEqual([days[0]?.input, days[0]?.cached, days[0]?.output, days[0]?.pico], [100, 40, 5, null]);
});

const refused: [string, string, RegExp][] = [
  ['nothing', '', /the bill is empty/],
  [
    'no such column',
    'date,model,input_tokens\n',
    /no column for output tokens: one of output_tokens is needed, and the bill has date, model, input_tokens$/,
  ],
  ['half a token', `${HEAD}\n2026-06-01,m,1.5,0,0,0`, /line 2: not a number of tokens: "1.5"/],
  ['negative tokens', `${HEAD}\n2026-06-01,m,-1,0,0,0`, /line 2: not a number of tokens/],
  ['no amount', `${HEAD}\n2026-06-01,m,1,0,0,free`, /line 2: not an amount: "free"/],
  ['a date of two readings', `${HEAD}\n\n01/02/2026,m,1,0,0,0`, /line 3: not a date/],
  ['no such day', `${HEAD}\n2026-02-30,m,1,0,0,0`, /line 2: /],
  ['no date', `${HEAD}\n,m,1,0,0,0`, /line 2: not a date/],
];
for (const [name, text, message] of refused)
  test(`refused: ${name}`, () => {
    assert.throws(
      () => read(text),
      (reason) => reason instanceof BillError && message.test(reason.message),
    );
  });

const amounts = (text: string, decimal?: 'point' | 'comma') => {
  const options = { mapping: BILL_MAPPINGS.generic, utcOffsetMinutes: 0, currency: 'EUR' };
  return readBill(text, decimal === undefined ? options : { ...options, decimal }).days.map(
    ({ day, input, output, pico }) => [day, input, output, microOfPico(pico ?? 0n)],
  );
};

test('as a spreadsheet of another country saves it: semicolons, decimal commas, days with points', () => {
  const head = '\ufeff"date";"model\r\n";input_tokens;output_tokens;cost';
  const text = `${head.replace('model\r\n', 'model')}\r\n31.01.2026;m;1.234;5;0,50 €\r\n1.2.2026;m;7;1;1.234,5\r\nTotal;;1.241;6;1.235,00\r\n`;
  assert.deepEqual(amounts(text), [
    ['2026-01-31', 1234, 5, 500_000],
    ['2026-02-01', 7, 1, 1_234_500_000],
  ]);
  const tabs = 'date\tmodel\tinput_tokens\toutput_tokens\tcost\n2026/01/31\tm\t7\t1\t$0.5\n';
  assert.deepEqual(amounts(tabs), [['2026-01-31', 7, 1, 500_000]]);
});

test('a number of two readings is not guessed where commas may be decimal', () => {
  const text = 'date;model;input_tokens;output_tokens;cost\n2026-01-31;m;7;1;1,234\n';
  assert.throws(() => amounts(text), /line 2: "1,234" can be read in two ways: say --decimal point or --decimal comma/);
  assert.equal(amounts(text, 'comma')[0]?.[3], 1_234_000);
  assert.equal(amounts(text, 'point')[0]?.[3], 1_234_000_000);
  const both = `${text}2026-01-31;m;7;1;0.25\n2026-01-31;m;7;1;0,25\n`;
  assert.throws(() => amounts(both), /has a decimal comma, and "0\.25" a decimal point/);
  assert.throws(
    () => amounts('date,model,input_tokens,output_tokens\n2026-01-31,m,1.000,1\n'),
    /not a number of tokens/,
  );
});

test('a bill of ten thousand lines is read at once', () => {
  const lines = Array.from(
    { length: 10_000 },
    (_, at) => `2026-01-${String(1 + (at % 28)).padStart(2, '0')},m${at % 50},10,0,1,0.000001`,
  );
  const began = performance.now();
  const { days } = read(`${HEAD}\n${lines.join('\n')}`);
  assert.equal(
    days.reduce((sum, { lines: count }) => sum + count, 0),
    10_000,
  );
  assert.ok(performance.now() - began < 2000);
});
