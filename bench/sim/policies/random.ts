import type { PolicySpec } from '../engine/policy.ts';
import { untried } from './least.ts';

export const randomPolicy: PolicySpec = {
  name: 'random',
  create: ({ hosts, random }) => ({
    pick: (_request, tried) => {
      const left = untried(hosts.length, tried);
      return left[Math.floor(random() * left.length)] ?? 0;
    },
  }),
};
