import { z } from 'zod';
import { name, text } from './scalar.ts';

export const className = () => z.string().regex(/^[\x21-\x7e]{1,64}$/, 'must be a class: 1 to 64 visible characters');

const classifier = z.strictObject({
  name: name().describe('For `routes[].classify`.'),
  header: z
    .boolean()
    .default(false)
    .describe('May clients name the class in `x-request-class`? Names of no class are ignored. Default: false.'),
  rules: z
    .array(
      z.strictObject({
        when: text().describe('CEL expression over the request.'),
        class: className().describe('The class where it is true.'),
      }),
    )
    .max(64)
    .default([])
    .describe('Looked at in order, before the text. One that fails is skipped and counted.')
    .meta({ examples: [[{ when: 'request.has_images', class: 'vision' }]] }),
  model: text()
    .optional()
    .describe('File of a model of texts that `tokenlat classifier train` wrote, for what no rule takes. Default: texts are not looked at.'),
  min_margin: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('A text whose class is less ahead of the second counts as `default`. Default: 0.'),
  classes: z.array(className()).max(64).default([]).describe('Classes that only the header names.'),
  default: className().default('general').describe('The class of what nothing else says. Default: general.'),
});

export const classifiersSection = z
  .array(classifier)
  .max(64)
  .describe('Ways to sort requests into classes, by which routes weigh differently and deployments differ in quality. None is used unless a route names it.');
