import type { Bind } from '../bind.ts';
import type { UnfinishedLimits } from './unfinished.ts';

/** gRPC status codes: https://grpc.io/docs/guides/status-codes/. */
export const STATUS = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

/** The server's side of one call. After its end nothing of it has an effect. */
export interface Call<Out> {
  /** A field of the initial metadata, or an empty text. */
  readonly metadata: (name: string) => string;
  readonly write: (message: Out) => void;
  /** Bytes written and not yet taken by the peer. */
  readonly unsent: () => number;
  /** Messages wait until `resume`, and past a bound the peer with them. What `resume` gives comes before it returns. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the call with a status. Its text reaches the peer. */
  readonly end: (code: number, details: string) => void;
}

/** Who takes what comes on a call. None of it should throw. */
export interface CallListener<In> {
  readonly onMessage: (message: In) => void;
  /** The peer has said all that it will. */
  readonly onEnd: () => void;
  /** Some of what was unsent is taken. */
  readonly onDrain: () => void;
  /** The call is over, for whatever reason. Comes once, and nothing after it. */
  readonly onClose: () => void;
}

/** One method of a service. */
export interface Method<In, Out> {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Never throws: what cannot be read is a value of its own. */
  readonly decode: (bytes: Buffer) => In;
  /** In one piece or in more, which nobody changes afterwards. */
  readonly encode: (message: Out) => Buffer | readonly Buffer[];
  readonly serve: (call: Call<Out>) => CallListener<In>;
}

/** A method whose types are forgotten: only it makes and takes its messages, so servers may pass them on unseen. */
export type AnyMethod = Method<unknown, unknown>;

/** Forgets the types of a method. */
export function anyMethod<In, Out>(method: Method<In, Out>): AnyMethod {
  return method as unknown as AnyMethod;
}

export interface GrpcServerOptions {
  readonly bind: Bind;
  readonly methods: readonly AnyMethod[];
  /** The largest message that is taken, in bytes. */
  readonly messageBytes: number;
  /** Calls open at once on one connection. */
  readonly streams: number;
  /** What messages that are not whole may cost, where peers are not trusted; the `lean` engine alone looks at it. */
  readonly unfinished?: UnfinishedLimits;
  /** A fault of ours that cost a call, or a connection. */
  readonly onFault: (reason: unknown) => void;
}

/** A gRPC server: what stands between Envoy's connections and the services. */
export interface GrpcServer {
  /** Listens. Gives the port that was taken, 0 for a socket file. Rejects when the address cannot be had. */
  readonly start: () => Promise<number>;
  /** Takes no new connections or calls, and resolves when those that are open have ended. */
  readonly close: () => Promise<void>;
  /** Cuts all that is left. */
  readonly destroy: () => void;
}
