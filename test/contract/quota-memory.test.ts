import { openMemoryHarness } from './memory-harness.ts';
import { testQuotaStore } from './quota-store.contract.ts';

testQuotaStore('memory', openMemoryHarness);
