import type { Decided } from '../config/check/finding.ts';
import { endRollout, type EndRolloutOptions } from '../control/rollout/end-rollout.ts';
import { ArmCounts } from '../control/rollout/figures.ts';
import { followRollout } from '../control/rollout/follow-rollout.ts';
import { RolloutJudge } from '../control/rollout/judge-rollout.ts';
import type { RolloutRecord } from '../core/directory.ts';
import type { Ending } from '../core/ending.ts';
import type { Assigned, RolloutMetrics, RolloutView } from '../core/ports/rollout.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { placeOf } from '../lib/sticky/place-of.ts';
import type { Stores } from '../store/stores.ts';
import type { LiveConfig } from './live-config.ts';
import { loadCandidate } from './load-candidate.ts';

export interface RolloutsOptions extends Pick<EndRolloutOptions, 'audit' | 'clock'> {
  readonly config: LiveConfig;
  readonly stores: Pick<Stores, 'directory' | 'rolloutFigures'>;
  readonly decided: Decided;
  /** One worker of a server judges. */
  readonly isJudge: boolean;
  readonly replica: string;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly figures: RolloutMetrics;
  readonly everyMs?: number;
}

interface Trial {
  readonly record: RolloutRecord;
  readonly old: Snapshot;
  readonly merged: Snapshot;
}

/** The part of one process in roll-outs: who is served by what, how that goes, and what becomes of it. */
export class Rollouts implements RolloutView {
  readonly #options: RolloutsOptions;
  readonly #judge: RolloutJudge;
  #prepare: (next: Snapshot) => Promise<void> = async () => {};
  #record: RolloutRecord | null = null;
  #trial: Trial | null = null;
  #counted: { readonly rollout: string; readonly counts: ArmCounts } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #following: ReturnType<typeof followRollout> | null = null;
  #problem: string | null = null;
  #looking = false;
  #applying: Promise<void> = Promise.resolve();

  constructor(options: RolloutsOptions) {
    this.#options = options;
    this.#judge = new RolloutJudge({ ...this.#ending(), figures: options.stores.rolloutFigures });
  }

  /** Begins to follow the record. `prepare` is done before a configuration serves anybody. True once it was read, within `waitMs`. */
  async begin(prepare: (next: Snapshot) => Promise<void>, waitMs: number): Promise<boolean> {
    const { stores, log, everyMs = 1000 } = this.#options;
    this.#prepare = prepare;
    this.#timer = setInterval(() => void this.#look(), everyMs);
    this.#timer.unref();
    const onChange = (record: RolloutRecord | null): Promise<void> => this.#take(record);
    this.#following = followRollout({ store: stores.directory, onChange, log, everyMs: 5 * everyMs });
    return await this.#following.ready(waitMs);
  }

  assign({ tenant, subject }: { readonly tenant: string; readonly subject: string }): Assigned | null {
    const trial = this.#trial;
    const { clock, config } = this.#options;
    if (trial === null || trial.old !== config.current() || clock.time() < trial.record.startAt) return null;
    const { rollout, percent } = trial.record;
    const place = 100 * placeOf(JSON.stringify([rollout, tenant, subject]));
    return place < percent ? { rollout, arm: 'new', config: trial.merged } : { rollout, arm: 'old', config: trial.old };
  }

  ended({ rollout, arm }: Assigned, ending: Ending): void {
    const counted = this.#counted;
    // Whoever left, and whom we left, says nothing of a configuration.
    if (counted?.rollout !== rollout || (ending.kind === 'cut' && ending.by !== 'upstream' && ending.by !== 'deadline'))
      return;
    const isError = ending.kind !== 'complete' || ending.status >= 400;
    counted.counts.add(arm, isError ? null : (ending.firstTokenMs ?? ending.totalMs));
    this.#options.figures.request(arm, isError ? 'error' : 'ok');
  }

  /** The file is another one. */
  readonly onFile = (): void => {
    const before = this.#trial;
    void this.#take(this.#record).then(async () => {
      const { config, replica, isJudge } = this.#options;
      const { source } = config.file();
      if (before === null || !isJudge || source === before.record.base || source === before.record.digest) return;
      await this.#roll(before.record, `the file of ${replica} was changed meanwhile`);
    });
  };

  /** What a part of the requests are served by while a roll-out runs. */
  readonly trial = (): Snapshot | null => this.#trial?.merged ?? null;

  /** What an operator should know. */
  problem(): string | null {
    return this.#problem;
  }

  /** What is in force stands on no disk yet. */
  get isPromoted(): boolean {
    return this.#record?.status === 'promoted' && this.#record.base === this.#options.config.file().source;
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#following?.close();
  }

  /** One after the other: what is heard later is what counts in the end. */
  #take(record: RolloutRecord | null): Promise<void> {
    this.#applying = this.#applying
      .then(() => this.#apply(record))
      .catch((reason: unknown) => {
        this.#options.log.error('a roll-out could not be followed', {
          error: reason instanceof Error ? reason : undefined,
        });
      });
    return this.#applying;
  }

  async #apply(record: RolloutRecord | null): Promise<void> {
    const { config, decided, figures } = this.#options;
    this.#record = record;
    this.#problem = null;
    const file = config.file();
    const isMine = record !== null && record.base === file.source;
    if (!isMine || (record.status !== 'running' && record.status !== 'promoted')) {
      const wasTried = this.#trial !== null;
      this.#stop(file);
      // Bounds that the trial set are those of the file again.
      if (wasTried) await config.renumber(this.#prepare);
      return;
    }
    const candidate = loadCandidate({ path: config.path, old: file, text: record.text, decided });
    if (!candidate.ok) {
      await this.#refuse(record, candidate.problems);
      return;
    }
    if (record.status === 'promoted') {
      await this.#prepare(candidate.snapshot);
      this.#stop(null);
      config.replace(candidate.snapshot);
      return;
    }
    config.replace(null);
    await this.#prepare(candidate.merged);
    // Each trial has a number of its own, which both of its sides share: its bounds are not those of one before.
    await config.renumber(this.#prepare);
    if (this.#counted?.rollout !== record.rollout) this.#counted = { rollout: record.rollout, counts: new ArmCounts() };
    this.#trial = {
      record,
      old: config.current(),
      merged: { ...candidate.merged, generation: config.current().generation },
    };
    figures.percent(record.percent);
  }

  #stop(file: Snapshot | null): void {
    this.#trial = null;
    this.#options.figures.percent(0);
    if (file !== null) this.#options.config.replace(null);
  }

  async #refuse(record: RolloutRecord, problems: readonly string[]): Promise<void> {
    const { log, metrics, replica, isJudge } = this.#options;
    this.#trial = null;
    this.#problem = `roll-out: ${problems[0] ?? 'cannot be used here'}`;
    metrics.anomaly('rollout_unusable');
    log.error('a configuration that is rolled out cannot be used here', {
      rollout: record.rollout,
      problem: this.#problem,
    });
    if (isJudge && record.status === 'running')
      await this.#roll(record, `${replica} cannot use it: ${problems[0] ?? ''}`);
  }

  async #roll(record: RolloutRecord, reason: string): Promise<void> {
    await endRollout(record, 'rolled_back', reason, this.#ending());
  }

  #ending(): EndRolloutOptions {
    const { stores, audit, figures, clock, log } = this.#options;
    return { store: stores.directory, audit, metrics: figures, clock, log };
  }

  /** Says what was seen, and judges. While the store is away, nothing is said and nothing judged. */
  async #look(): Promise<void> {
    const trial = this.#trial;
    const counted = this.#counted;
    if (trial === null || counted === null || this.#looking) return;
    this.#looking = true;
    const { stores, holder, isJudge, clock, log } = this.#options;
    try {
      await stores.rolloutFigures.publish(trial.record.rollout, holder, counted.counts.figures());
      if (isJudge && clock.time() >= trial.record.startAt) await this.#judge.look(trial.record);
    } catch (reason) {
      log.debug('a roll-out could not be judged', { error: reason instanceof Error ? reason : undefined });
    } finally {
      this.#looking = false;
    }
  }
}
