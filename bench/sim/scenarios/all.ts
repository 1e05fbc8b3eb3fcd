import { prefixes, warmModels } from './affinity.ts';
import { bursts } from './bursts.ts';
import { fairQueue } from './fair-queue.ts';
import type { Scenario } from './scenario.ts';
import { sickHost } from './sick-host.ts';
import { highLoad } from './high-load.ts';
import { equalHosts, mixedHosts } from './spread-load.ts';

/** All scenarios, in the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  equalHosts,
  mixedHosts,
  sickHost,
  prefixes,
  warmModels,
  bursts,
  fairQueue,
  highLoad,
];
