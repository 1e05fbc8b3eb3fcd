import { openMemoryHarness } from './memory-harness.ts';
import { testSpendReader } from './spend-reader.contract.ts';

testSpendReader('memory', openMemoryHarness);
