import { testLimitLevels } from './limit-levels.contract.ts';
import { openMemoryHarness } from './memory-harness.ts';

testLimitLevels('memory', openMemoryHarness);
