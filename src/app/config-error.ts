import { formatProblems, type Problem } from '../config/problem.ts';

/** The configuration cannot run. `message` is a list of problems with their places, for people. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], files: ReadonlyMap<string, string | null>) {
    super(formatProblems(problems, (file) => files.get(file) ?? undefined));
    this.problems = problems;
  }
}
