/**
 * CPU time that this thread has used so far, in milliseconds. Bounds on how much something costs hold by it on a machine that is
 * busy with other things too, where the clock on the wall says nothing. Some systems count in ticks of 4 ms: measure 40 and more.
 */
export function cpuTimeMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
