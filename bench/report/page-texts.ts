/** What stands on the page whatever was measured. */
export const INTRODUCTION = `Made by \`npm run bench -- --peers\` from \`performance.json\`; changes made here are lost. Parts of it may have been measured on
different days: each tells its own.

TokenLat, what it cannot do without and its peers side by side on one machine, in front of the same model server, which sends
canned answers.

CPU is the time that the threads of a process were on a CPU over the window (\`/proc/<pid>/task/*/schedstat\`), less what the same
process uses when nothing is asked, divided by the requests answered. Throughput comes from a closed loop (each connection sends
again when it has its answer), latency at a rate from an open loop (requests go out at a fixed rate, and time counts from when a
request was due). Every setup is warmed up first; rounds go over all setups in turn and alternate in direction, so that a machine
that grows slower or faster hits all alike.

The time to the first token and the jitter of a stream are taken at a modest rate that leaves most of two cores idle, in an open loop:
they tell what TokenLat adds to one stream, not how streams wait for each other.

Only the ratios and differences are claims, and only as far as their rounds agree: one whose rounds lie further apart than the
figure itself says nothing on this machine. The absolute figures depend on the machine, which may be shared.
`;

/** Where the CPU goes. */
export const FLAME = `A [flame graph](performance/request-flow.svg) shows where the CPU of a worker goes under plain chat, from the wire to the settlement.
`;

/** Over the tables. */
export const COMPARE = `Compare only rows of one table: parts may have been measured at different times, under a different load of the machine.
`;

export const SETUPS = `- **direct**: the load generator asks the model server.
- **envoy**: Envoy alone, with the listener that TokenLat renders (hardening, timeouts, access log) and no ext_proc.
- **echo**: the Envoy configuration of TokenLat, and behind it a bare grpc-js server that answers every message with the
  bytes that TokenLat was recorded to answer, without decoding or deciding anything. It is the floor under any ext_proc
  server on grpc-js.
- **tokenlat**: one worker with everything on: JWT, request and token limits and a daily quota in Redis, a CEL route, CEL score,
  word filter, cost, ledger, audit, trace, and a log line a request.
- **tokenlat-grpc-js**: the same with \`server.grpc: grpc-js\` in place of the gRPC server of our own.
- **tokenlat-2**: the same with two workers, and Envoy with two threads.
- **tokenlat-spare**: the same with a second backend to choose from by score, and to go to when the first one fails.
- **tokenlat-logged**: the same as that, and Envoy sends its gRPC access log of every request to the worker.
- **tokenlat-10-tenants**, **tokenlat-10k-tenants**, **tokenlat-1k-routes**: the same with so many tenants, whose requests come in
  turn, or so many routes for other models before the one that is taken.
- **tokenlat-no-limits**, **tokenlat-all-limits**: the same with no limit, and with each of the ten kinds of limits on the
  tenant, its business line, the subject and the model. Both ask Redis once to admit and once to settle.
- **tokenlat-minimal**: JWT and routing alone, stores in memory, no log line a request.
`;

export const LEFT_OUT = `Not measured: LangGate 0.4.1, whose processor has no server that serves; Bifrost, Helicone, Higress and Kong, which no package
registry carries as a program that runs beside this Envoy; agentgateway, LiteLLM-Rust and traceloop hub, which have to be built from
source; TensorZero, whose Python package carries its gateway inside a client, without a server; LLMOps (npm \`@llmops/gateway\`), a
fork of Portkey without a server of its own.

What the peers do not do here, TokenLat's \`tokenlat\` does: compare their rows with \`tokenlat-minimal\` for the same work, and with
\`tokenlat\` for the price of all of it. The goals are about \`tokenlat\`. The ext_proc server of Envoy AI Gateway runs inside \`aigw\`, whose
control plane is idle by then; its Go runtime may use every core, as it does by default.
`;

export const REPEAT = `## How to repeat

\`\`\`sh
npm run bench -- --peers --install   # everything, in three quarters of an hour; the peers are fetched once into .cache/peers
npm run bench -- --peers --list      # what there is to measure, how long each takes, and commands for parts of minutes
npm run bench -- --peers --merge --only stream2000   # a part; the rest of docs/ stays
npm run bench -- --peers --merge --only soak         # memory under a steady load for ten minutes; --soak 30m for thirty
npm run bench                        # without peers
npm run bench -- --quick             # in less than three minutes; --no-write leaves the files in docs/ as they are
npm run bench -- --report            # this page and its plots again, from performance.json
npm run bench -- --flame             # the flame graph again
npm run bench -- --no-write --only plain,stream100 --setups echo,tokenlat
npm run bench -- --quick --only plain --setups tokenlat --profile profile   # a V8 CPU profile
\`\`\`
`;
