import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pythonPackages } from './python-packages.ts';

/** A real ClickHouse engine on HTTP, for tests. */
export interface ChdbServer {
  readonly url: string;
  readonly dir: string;
  /** Rows of an answer. Throws with what the engine said. */
  readonly ask: (query: string) => Promise<unknown[][]>;
  /** SIGKILL; its data and port stay for `restart`. */
  readonly kill: () => Promise<void>;
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Installs the engine where it is not there (52 MB), and starts it on a free port. */
export async function startChdb(): Promise<ChdbServer> {
  const packages = pythonPackages('chdb', path.join(import.meta.dirname, 'chdb-requirements.txt'));
  const dir = mkdtempSync(path.join(os.tmpdir(), 'tokenlat-chdb-'));
  let port = 0;
  let child = await launch();

  async function launch() {
    const script = path.join(import.meta.dirname, 'chdb_server.py');
    const started = spawn('python3', [script, path.join(dir, 'data'), String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' },
    });
    const gone = once(started, 'exit').then(() => null);
    const said = await Promise.race([once(started.stdout, 'data'), gone]);
    assert.ok(said !== null, 'the engine did not start');
    port = Number(String(said[0]).trim());
    return started;
  }
  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    dir,
    ask: async (query) => {
      const answer = await fetch(url, { method: 'POST', body: query });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown[]);
    },
    kill,
    restart: async () => {
      await kill();
      child = await launch();
    },
    stop: async () => {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
