/** Rates are kept as whole thousandths of a unit a second, rounded down: what adds up there adds up here. */
export const toMillis = (rate: number): number => Math.floor(Math.min(rate, MOST) * 1000 + 1e-6);
export const fromMillis = (millis: number): number => millis / 1000;

/** Far above any rate of a configuration, far below what is exact. */
const MOST = 1e12;
