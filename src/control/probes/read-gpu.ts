import { readSeries, type Series } from '../../lib/prometheus/read-series.ts';

/** What an exporter says of the GPUs of one backend: of each figure the worst, of replays the sum. Null = it does not say. */
export interface GpuReading {
  readonly celsius: number | null;
  /** Code of the last error; 0 = none. */
  readonly xid: number;
  /** Repeated transfers on the bus since the GPU's start. */
  readonly replays: number | null;
  /** Is its clock held down by heat or by its power supply? */
  readonly throttled: boolean;
}

const TEMPERATURE = 'DCGM_FI_DEV_GPU_TEMP';
const XID = 'DCGM_FI_DEV_XID_ERRORS';
const REPLAYS = 'DCGM_FI_DEV_PCIE_REPLAY_COUNTER';
/** The same under its old and its new name. */
const THROTTLE = ['DCGM_FI_DEV_CLOCK_THROTTLE_REASONS', 'DCGM_FI_DEV_CLOCKS_EVENT_REASONS'] as const;
const WANTED: ReadonlySet<string> = new Set([TEMPERATURE, XID, REPLAYS, ...THROTTLE]);

/**
 * Bits of NVML's reasons: slowed by hardware (0x08), by software for heat (0x20), by hardware for heat (0x40), by the power
 * brake (0x80). Not among them: idle, clocks as set, a power cap that is always there.
 */
const HELD_DOWN = 0x08 | 0x20 | 0x40 | 0x80;

/**
 * Errors after which a GPU is not to be trusted (NVIDIA's list of Xid codes): 48 and 94, 95 memory that cannot be corrected,
 * 64 a repair that failed, 74 NVLink, 79 fallen off the bus, 119 and 120 its firmware stopped answering.
 */
const FATAL_XIDS: ReadonlySet<number> = new Set([48, 64, 74, 79, 94, 95, 119, 120]);

/** Reads an exporter's text. `labels`: which GPUs. Null where it says nothing of such. */
export function readGpu(text: string, labels: readonly (readonly [name: string, value: string])[]): GpuReading | null {
  const found = readSeries(text, WANTED);
  const valuesOf = (name: string): readonly number[] =>
    (found.get(name) ?? [])
      .filter((series) => hasAll(series, labels))
      .map(({ value }) => value)
      .filter((value) => Number.isFinite(value));
  const temperatures = valuesOf(TEMPERATURE);
  const celsius = temperatures.length === 0 ? null : Math.max(...temperatures);
  const xids = valuesOf(XID);
  const counters = valuesOf(REPLAYS);
  const replays = counters.length === 0 ? null : counters.reduce((sum, count) => sum + count, 0);
  const reasons = THROTTLE.flatMap(valuesOf);
  if (celsius === null && replays === null && xids.length === 0 && reasons.length === 0) return null;
  return {
    celsius,
    xid: xids.find((code) => FATAL_XIDS.has(code)) ?? 0,
    replays,
    throttled: reasons.some((bits) => (bits & HELD_DOWN) !== 0),
  };
}

function hasAll({ labels }: Series, wanted: readonly (readonly [name: string, value: string])[]): boolean {
  return wanted.every(([name, value]) => labels.get(name) === value);
}
