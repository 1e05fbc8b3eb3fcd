import type { Results } from './results.ts';
export function markdown(results: Results): string { return JSON.stringify(results.ratios); }
