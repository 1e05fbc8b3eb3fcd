import type { Classifier, TextClasses } from '../../core/classifier.ts';
import { createTextClassifier } from '../../lib/text-classes/linear.ts';
import type { TextModelFile } from '../../lib/text-classes/model-file.ts';
import { shrunk } from '../../lib/text-classes/quality-table.ts';
import type { ConfigDocument } from '../schema/document.ts';

type ClassifierEntry = ConfigDocument['classifiers'][number];

/** Every class that a classifier may give. */
export function classesOf(entry: ClassifierEntry, model: TextModelFile | undefined): ReadonlySet<string> {
  return new Set([
    ...entry.rules.map((rule) => rule.class),
    ...(model?.model.classes ?? []).map(({ name }) => name),
    ...entry.classes,
    entry.default,
  ]);
}

/** Classifiers by name. `models` are those of texts that were read while the document was checked. */
export function compileClassifiers(
  { classifiers }: Pick<ConfigDocument, 'classifiers'>,
  models: ReadonlyMap<string, TextModelFile>,
): ReadonlyMap<string, Classifier> {
  return new Map(
    classifiers.map((entry) => {
      const model = models.get(entry.name);
      return [
        entry.name,
        {
          name: entry.name,
          trustsHeader: entry.header,
          rules: entry.rules,
          text: model === undefined ? null : textClasses(model),
          minMargin: entry.min_margin,
          fallback: entry.default,
          classes: classesOf(entry, model),
        },
      ];
    }),
  );
}

/** Few observations of a class say little: its mean is drawn to the model's. */
function textClasses({ model, quality }: TextModelFile): TextClasses {
  return {
    classify: createTextClassifier(model),
    quality: new Map(
      [...quality].map(([name, { mean, classes }]) => [
        name,
        new Map(model.classes.map((each) => [each.name, shrunk(classes.get(each.name) ?? { mean, n: 0 }, mean)])),
      ]),
    ),
  };
}
