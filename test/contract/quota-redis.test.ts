import { openRedisHarness } from './redis-harness.ts';
import { testQuotaStore } from './quota-store.contract.ts';

testQuotaStore('redis', openRedisHarness);
