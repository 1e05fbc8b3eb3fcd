import { testDirectoryStore } from './directory-store.contract.ts';
import { openMemoryHarness } from './memory-harness.ts';

testDirectoryStore('memory', openMemoryHarness);
