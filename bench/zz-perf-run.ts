import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from './measure.ts';
import { startScript } from './setups/child-process.ts';
import { startSetups } from './setups/start-setups.ts';
import { planOf } from './workload.ts';
const only = (process.env['ONLY'] ?? 'plain').split(',');
const names = (process.env['SETUPS'] ?? 'echo,tokenlat').split(',');
const warmMs = Number(process.env['WARM'] ?? 15000);
const rounds = Number(process.env['ROUNDS'] ?? 4);
const nodeArgs = (process.env['NODEARGS'] ?? '').split(' ').filter((x) => x !== '');
const plan = planOf('full');
const workloads = plan.workloads.filter((w) => only.includes(w.name));
const payloads = [...new Map(workloads.map(({ payload }) => [payload.name, payload])).values()];
const dir = mkdtempSync(join(tmpdir(), 'tokenlat-bench-'));
const setups = await startSetups({ dir, payloads, nodeArgs });
const load = await startScript(join(import.meta.dirname, 'load-main.ts'), [], join(dir, 'load.log'));
const chosen = names.map((n) => setups.all.find((s) => s.name === n)!);
function threads(pid: number): Map<string, number> {
  const out = new Map<string, number>();
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const t = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'utf8');
    const name = t.slice(t.indexOf('(') + 1, t.lastIndexOf(')'));
    const f = t.slice(t.lastIndexOf(')') + 2).split(' ');
    const key = tid === String(pid) ? 'main' : name;
    out.set(key, (out.get(key) ?? 0) + (Number(f[11]) + Number(f[12])) * 10);
  }
  return out;
}
const med = (a: number[]) => [...a].sort((x, y) => x - y)[Math.floor(a.length / 2)]!;
for (const w of workloads) {
  for (const s of chosen) await measure(load, s, { ...w, rate: null }, s.name === 'echo' ? Math.min(warmMs, 6000) : warmMs);
  const res = new Map<string, number[]>(), thr = new Map<string, number[]>(), split = new Map<string, Map<string, number>>(), n = new Map<string, number>();
  const redis: number[] = [], envoy: number[] = [];
  for (let r = 0; r < rounds; r++)
    for (const s of r % 2 ? chosen.toReversed() : chosen) {
      const before = threads(s.processes.ext_proc!);
      const sample = await measure(load, s, { ...w, rate: null }, w.durationMs);
      const after = threads(s.processes.ext_proc!);
      res.set(s.name, [...(res.get(s.name) ?? []), sample.cpuUs.ext_proc!]);
      thr.set(s.name, [...(thr.get(s.name) ?? []), sample.throughput]);
      n.set(s.name, (n.get(s.name) ?? 0) + sample.requests);
      if (s.name === 'tokenlat') { redis.push(sample.cpuUs.redis!); envoy.push(sample.cpuUs.envoy!); }
      const m = split.get(s.name) ?? new Map();
      for (const [k, v] of after) m.set(k, (m.get(k) ?? 0) + v - (before.get(k) ?? 0));
      split.set(s.name, m);
    }
  for (const s of chosen) {
    const parts = [...split.get(s.name)!].map(([k, v]) => `${k} ${((v * 1000) / n.get(s.name)!).toFixed(0)}`).filter((x) => !x.endsWith(' 0'));
    console.log(w.name, s.name, 'µs', med(res.get(s.name)!).toFixed(0), res.get(s.name)!.map((x) => x.toFixed(0)).join('/'), 'req/s', med(thr.get(s.name)!).toFixed(0), '| threads', parts.join(', '));
  }
  if (redis.length) console.log('  redis', med(redis).toFixed(0), 'envoy', med(envoy).toFixed(0));
  for (const s of chosen.slice(1)) console.log(w.name, s.name, 'ratio to', chosen[0]!.name, (med(res.get(s.name)!) / med(res.get(chosen[0]!.name)!)).toFixed(2));
}
await load.stop(); await setups.stop(); rmSync(dir, { recursive: true, force: true }); process.exit();
