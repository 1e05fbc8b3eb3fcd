/** What tests of the admin commands share: a real server with stores in memory, and a terminal that remembers. */
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { Command } from 'commander';
import { adminKit, SECRETS, START } from '../admin/admin-kit.test.ts';
import type { AdminServerOptions } from '../admin/admin-server.ts';
import type { Terminal } from './terminal.ts';

/** Every request that came, as it came. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A server on a port of its own, closed after the tests, and a way to run commands against it. */
export async function cliKit(change: Partial<AdminServerOptions> = {}) {
  const kit = adminKit(change);
  const seen: Seen[] = [];
  kit.app.addHook('onRequest', async ({ method, url, headers }) => void seen.push({ method, url, headers }));
  await kit.app.listen({ host: '127.0.0.1', port: 0 });
  after(() => kit.app.close());
  const url = `http://127.0.0.1:${(kit.app.server.address() as AddressInfo).port}`;

  /** Runs a command; `as` names a caller of `SECRETS`. */
  async function run(
    make: (terminal: Terminal) => Command,
    words: readonly string[],
    { as = 'admin', ...change }: { as?: string } & Partial<Terminal> = {},
  ) {
    const token = SECRETS[as] ?? as;
    return await runCommand(make, words, { env: { TOKENLAT_ADMIN_URL: url, TOKENLAT_ADMIN_TOKEN: token }, ...change });
  }
  return { ...kit, seen, url, run };
}

/** Runs a command on a terminal of its own. What it throws is `error`. */
export async function runCommand(
  make: (terminal: Terminal) => Command,
  words: readonly string[],
  change: Partial<Terminal> = {},
) {
  let out = '';
  let err = '';
  const terminal: Terminal = {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env: {},
    screen: false,
    time: () => START,
    stopped: null,
    ...change,
  };
  const command = make(terminal);
  quiet(command, terminal);
  const error = await command.parseAsync(words, { from: 'user' }).then(
    () => null,
    (reason: Error) => reason,
  );
  return { out, err, error, json: () => JSON.parse(out) as Record<string, unknown> };
}

/** Commander neither ends the process nor writes past the terminal. */
function quiet(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({ writeOut: terminal.out, writeErr: terminal.err });
  for (const child of command.commands) quiet(child, terminal);
}
