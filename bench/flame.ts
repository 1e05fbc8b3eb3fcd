/*
 * `node bench/flame.ts PROFILE.cpuprofile OUT.svg [FROM]`: a CPU profile of V8 as a flame graph, a box a function, as wide as its
 * share of the time in which the process was busy. FROM (0 to 1, default 0.5) leaves out the start: until V8 has compiled all
 * code well it says little. Names only: the paths of a machine stay out of the picture.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { flameSvg } from './report/flame-svg.ts';
import { readProfile } from './report/read-profile.ts';

const [profile, out, from = '0.5'] = process.argv.slice(2);
if (profile === undefined || out === undefined)
  throw new Error('node bench/flame.ts PROFILE.cpuprofile OUT.svg [FROM]');
const tree = readProfile(readFileSync(profile, 'utf8'), Number(from));
writeFileSync(out, flameSvg(tree));
