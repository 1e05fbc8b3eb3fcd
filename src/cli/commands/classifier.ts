import { Command, InvalidArgumentError } from 'commander';
import { MODEL_LIMITS, USUAL_TRAINING } from '../../lib/text-classes/limits.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import type { ShownFlags, TrainFlags } from '../text-classes.ts';

/** `tokenlat classifier`: models of texts for `classifiers[].model`. */
export function classifierCommand(terminal: Terminal = processTerminal): Command {
  return new Command('classifier')
    .description('make and look at the models by which classifiers sort texts')
    .addCommand(trainCommand(terminal))
    .addCommand(testCommand(terminal))
    .addCommand(showCommand(terminal));
}

function trainCommand(terminal: Terminal): Command {
  const { classes, bits, penalty, folds, seed } = USUAL_TRAINING;
  return new Command('train')
    .description('learn classes from texts, or make them of how good models answered')
    .argument(
      '<data>',
      'JSON Lines: {"prompt": "…", "class": "…", "quality": {"model": 0..1}}, with class, quality or both',
    )
    .requiredOption('-o, --out <file>', 'where the model goes')
    .option(
      '--classes <count>',
      'most classes that are made where none are given',
      whole(1, MODEL_LIMITS.classes),
      classes,
    )
    .option(
      '--bits <count>',
      'the table of words has 2^count slots',
      whole(MODEL_LIMITS.bits.least, MODEL_LIMITS.bits.most),
      bits,
    )
    .option('--penalty <number>', 'the larger, the less is learned by heart', positive, penalty)
    .option('--folds <count>', 'parts of the data that are left out in turn', whole(2, 100), folds)
    .option('--seed <number>', 'of the chance by which parts are made', whole(0, 2 ** 31 - 1), seed)
    .option('--json', 'print JSON')
    .action(async (data: string, flags: TrainFlags) => {
      const { train } = await import('../text-classes.ts');
      const { text, warnings } = train(data, flags);
      terminal.out(text);
      for (const warning of warnings) terminal.err(`warning: ${warning}\n`);
    });
}

function testCommand(terminal: Terminal): Command {
  return new Command('test')
    .description('say how good a model is on samples that it was not learned from')
    .argument('<model>', 'file that train wrote')
    .argument('<data>', 'JSON Lines, as for train')
    .option('--json', 'print JSON')
    .action(async (path: string, data: string, flags: ShownFlags) => {
      const { test } = await import('../text-classes.ts');
      terminal.out(test(path, data, flags));
    });
}

function showCommand(terminal: Terminal): Command {
  return new Command('show')
    .description('show the classes of a model and the quality by class, or the class of a text')
    .argument('<model>', 'file that train wrote')
    .option('--prompt <text>', 'say of which class this text is')
    .option('--json', 'print JSON')
    .action(async (path: string, flags: ShownFlags & { readonly prompt?: string }) => {
      const { show } = await import('../text-classes.ts');
      terminal.out(show(path, flags));
    });
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
    return value;
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('must be a number above 0.');
  return value;
}
