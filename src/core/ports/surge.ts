/** The level of load, for whoever serves requests. Both are a few instructions. */
export interface SurgeView {
  /** A request has come. */
  arrived(): void;
  /** 0 = as usual; n = the nth level of the configuration. */
  level(): number;
}

/** Where nobody measures. */
export const NO_SURGE: SurgeView = { arrived: () => {}, level: () => 0 };
