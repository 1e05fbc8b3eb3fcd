/** The audit log. Files are absolute. */
export interface Audit {
  readonly dir: string;
  /** What becomes of requests while records cannot be kept. */
  readonly onError: 'block' | 'continue';
  readonly segmentBytes: number;
  readonly rotateMs: number;
  readonly keepMs: number;
  /** At least one of `dir` and `redis`. */
  readonly checkpoint: {
    readonly everyMs: number;
    readonly records: number;
    readonly dir: string | null;
    readonly redis: boolean;
  };
  /** Ed25519 private key, PEM; made at the first start. */
  readonly keyFile: string;
  readonly prompts: 'none' | 'hash' | 'encrypt';
  /** 32 bytes; null only where `prompts` is `none`. */
  readonly promptKey: Uint8Array | null;
}

/** What is said to whoever asks for a log that is not kept. */
export const NO_AUDIT = 'this configuration keeps no audit log: it has no audit section';
