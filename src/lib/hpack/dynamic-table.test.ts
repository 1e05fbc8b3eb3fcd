import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DynamicTable } from './dynamic-table.ts';
import { HeaderField } from './header-field.ts';

test('the table is the newest entries that fit, whatever is added and however it is resized', () => {
  const add = fc.nat(60).map((size) => ({ kind: 'add' as const, size }));
  const resize = fc.nat(4096).map((size) => ({ kind: 'resize' as const, size }));
  const steps = fc.array(fc.oneof({ arbitrary: add, weight: 60 }, resize), { maxLength: 200, size: 'max' });
  let deepest = 0;
  fc.assert(
    fc.property(steps, fc.constantFrom(0, 33, 256, 4096), (all, start) => {
      const table = new DynamicTable(start);
      let capacity: number = start;
      let model: HeaderField[] = [];
      const size = (): number => model.reduce((sum, field) => sum + field.size, 0);
      for (const step of all) {
        if (step.kind === 'resize') {
          capacity = step.size;
          table.resize(capacity);
        } else {
          const field = new HeaderField('n', 'v'.repeat(step.size));
          table.add(field);
          model.unshift(field);
          if (field.size > capacity) model = [];
        }
        while (size() > capacity) model.pop();
        assert.equal(table.size, size());
        for (const [age, field] of model.entries()) assert.equal(table.at(age), field);
        assert.equal(table.at(model.length), undefined);
        deepest = Math.max(deepest, model.length);
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(deepest > 20, `the table never held more than ${deepest} entries`);
});
