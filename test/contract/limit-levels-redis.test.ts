import { testLimitLevels } from './limit-levels.contract.ts';
import { openRedisHarness } from './redis-harness.ts';

testLimitLevels('redis', openRedisHarness);
