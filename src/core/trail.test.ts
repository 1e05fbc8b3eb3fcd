import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { STATION_NAMES, Trail } from './trail.ts';

test('stations stand in their order whatever the order of their notes, with all their time and the last word', () => {
  const note = fc.tuple(fc.constantFrom(...STATION_NAMES), fc.nat(1000), fc.string(), fc.string());
  fc.assert(
    fc.property(fc.array(note, { maxLength: 20 }), (notes) => {
      const trail = new Trail();
      for (const each of notes) trail.note(...each);
      const stations = trail.stations();
      assert.deepEqual(
        stations.map((record) => record.station),
        STATION_NAMES.filter((name) => notes.some(([noted]) => noted === name)),
      );
      for (const record of stations) {
        const own = notes.filter(([name]) => name === record.station);
        assert.equal(
          record.micros,
          own.reduce((sum, [, micros]) => sum + micros, 0),
        );
        assert.deepEqual([record.decision, record.reason], own.at(-1)?.slice(2));
      }
    }),
  );
});

test('a trail without notes is empty', () => {
  assert.deepEqual(new Trail().stations(), []);
});
