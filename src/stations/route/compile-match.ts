import { Environment } from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import { REQUEST_FIELDS, TARGET_FIELDS, TENANT_FIELDS, TERM_FIELDS } from './match-fields.ts';

/** What rules may read. `headers` and `claims` by any name. */
export type Variable = 'request' | 'tenant' | 'claims' | 'headers';

/** What one expression reads: field names, or `all` where it takes the variable as a whole. */
export type References = Readonly<Record<Variable, ReadonlySet<string> | 'all'>>;

/** Values for an expression, as `match-inputs` makes them. */
export type MatchVariables = Readonly<Record<Variable, Readonly<Record<string, unknown>>>>;

/** `fault`: why it could not be answered (a missing claim, say), as a code without values. It then counts as no match. */
export interface MatchResult {
  readonly matched: boolean;
  readonly fault: string | null;
}

/** Likewise for expressions over a candidate. */
export type ScoreVariables = MatchVariables &
  Readonly<Record<'target' | 'terms', Readonly<Record<string, string | number | bigint>>>>;

/** An expression ready for use. `evaluate` never throws. */
export interface Match<Variables = MatchVariables> {
  readonly ok: true;
  readonly references: References;
  /** Nodes of the expression: about what it costs to evaluate. */
  readonly size: number;
  readonly evaluate: (variables: Variables) => MatchResult;
}

/** Why an expression cannot be used. `position` counts characters into the source. */
export interface MatchProblem {
  readonly ok: false;
  readonly error: string;
  readonly position: number;
}

const MAX_SOURCE = 4096;
const LIMITS = { maxAstNodes: 256, maxDepth: 24, maxListElements: 128, maxMapEntries: 32, maxCallArguments: 8 };

/**
 * Functions that cost no more than the length of what they read. `matches` is left out: it runs a backtracking regular
 * expression over the client's text. So are those that build lists or parse text out of text.
 */
const PLAIN: ReadonlySet<string> = new Set(
  'has size startsWith endsWith contains lowerAscii upperAscii trim indexOf lastIndexOf substring'
    .concat(' int uint double string bool dyn type')
    .split(' '),
);
/** Loops. One inside another would multiply. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

const ofRequests = (): Environment =>
  new Environment({ limits: LIMITS })
    .registerVariable({ name: 'request', schema: { ...REQUEST_FIELDS } })
    .registerVariable({ name: 'tenant', schema: { ...TENANT_FIELDS } })
    .registerVariable('claims', 'map<string, dyn>')
    .registerVariable('headers', 'map<string, string>');
const matching = ofRequests();
const scoring = ofRequests()
  .registerVariable({ name: 'target', schema: { ...TARGET_FIELDS } })
  .registerVariable({ name: 'terms', schema: { ...TERM_FIELDS } });

/** A refusal with its place. */
class Refusal extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

function children(value: unknown): readonly ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(children);
  return isNode(value) ? [value] : [];
}

function isVariable(name: unknown): name is Variable {
  return name === 'request' || name === 'tenant' || name === 'claims' || name === 'headers';
}

/** `claims.x` and `claims["x"]`: the variable and the one field that is read. */
function fieldOf(node: ASTNode): { readonly variable: Variable; readonly field: string } | null {
  if (node.op !== '.' && node.op !== '[]') return null;
  const [object, key] = node.args;
  if (object.op !== 'id' || !isVariable(object.args)) return null;
  if (typeof key === 'string') return { variable: object.args, field: key };
  const literal = key.op === 'value' ? key.args : null;
  return typeof literal === 'string' ? { variable: object.args, field: literal } : null;
}

interface Walk {
  readonly fields: Record<Variable, Set<string>>;
  readonly whole: Set<Variable>;
  size: number;
}

function checkCall(node: ASTNode, inLoop: boolean): boolean {
  if (node.op !== 'call' && node.op !== 'rcall') return inLoop;
  const name = node.args[0];
  if (LOOPS.has(name)) {
    if (inLoop) throw new Refusal(`'${name}' inside another loop is not allowed`, node.start);
    return true;
  }
  if (!PLAIN.has(name)) throw new Refusal(`the function '${name}' is not allowed`, node.start);
  return inLoop;
}

/** Refuses what a rule must not do and notes what it reads. A name bound by a loop may be noted too: more is not less. */
function walk(node: ASTNode, found: Walk, inLoop: boolean): void {
  found.size += 1;
  const read = fieldOf(node);
  if (read !== null) {
    found.fields[read.variable].add(read.field);
    return;
  }
  if (node.op === 'id' && isVariable(node.args)) found.whole.add(node.args);
  const inside = checkCall(node, inLoop);
  for (const child of children(node.args)) walk(child, found, inside);
}

function readOf(ast: ASTNode): Pick<Program, 'references' | 'size'> {
  const found: Walk = {
    fields: { request: new Set(), tenant: new Set(), claims: new Set(), headers: new Set() },
    whole: new Set(),
    size: 0,
  };
  walk(ast, found, false);
  const read = (variable: Variable) => (found.whole.has(variable) ? 'all' : found.fields[variable]);
  const references: References = {
    request: read('request'),
    tenant: read('tenant'),
    claims: read('claims'),
    headers: read('headers'),
  };
  return { references, size: found.size };
}

interface CelError {
  readonly summary?: string;
  readonly code?: string;
  readonly range?: { readonly start: number };
}

function problemOf(reason: unknown): MatchProblem {
  if (reason instanceof Refusal) return { ok: false, error: reason.message, position: reason.position };
  const { summary, range } = reason as CelError;
  const message = reason instanceof Error ? (reason.message.split('\n')[0] ?? '') : 'not an expression';
  return { ok: false, error: summary ?? message, position: range?.start ?? 0 };
}

function faultOf(reason: unknown): string {
  const { code } = reason as CelError;
  return typeof code === 'string' ? code : 'failed';
}

/** A checked expression. `read` gives its value; it throws what the evaluation throws. */
interface Program {
  readonly ok: true;
  readonly references: References;
  readonly size: number;
  readonly read: (variables: Readonly<Record<string, unknown>>) => unknown;
}

function compile(source: string, environment: Environment, types: readonly string[]): Program | MatchProblem {
  if (source.length > MAX_SOURCE) return { ok: false, error: `longer than ${MAX_SOURCE} characters`, position: 0 };
  try {
    const program = environment.parse(source);
    const { references, size } = readOf(program.ast);
    const checked = program.check();
    if (!checked.valid) return problemOf(checked.error);
    if (![...types, 'dyn'].includes(String(checked.type)))
      return { ok: false, error: `gives ${String(checked.type)}, not ${types.join(' or ')}`, position: 0 };
    return { ok: true, references, size, read: (variables) => program({ ...variables }) };
  } catch (reason) {
    return problemOf(reason);
  }
}

/** The value of an expression, or why there is none. */
function evaluated(
  read: Program['read'],
  variables: Readonly<Record<string, unknown>>,
): { readonly value: unknown; readonly fault: string | null } {
  try {
    return { value: read(variables), fault: null };
  } catch (reason) {
    return { value: null, fault: faultOf(reason) };
  }
}

/**
 * Compiles a rule in CEL (the Common Expression Language). Names and types are checked here, so that what is left to fail
 * later is what a request lacks. Bounded in size, depth and cost.
 */
export function compileMatch(source: string): Match | MatchProblem {
  return asMatch(compile(source, matching, ['bool']));
}

/** The same for rules of a score, which may also read `target` and `terms`. */
export function compileWhen(source: string): Match<ScoreVariables> | MatchProblem {
  return asMatch(compile(source, scoring, ['bool']));
}

function asMatch<Variables extends Readonly<Record<string, unknown>>>(
  program: Program | MatchProblem,
): Match<Variables> | MatchProblem {
  if (!program.ok) return program;
  const { references, size, read } = program;
  return {
    ok: true,
    references,
    size,
    evaluate: (variables) => {
      const { value, fault } = evaluated(read, variables);
      if (fault !== null) return { matched: false, fault };
      return typeof value === 'boolean'
        ? { matched: value, fault: null }
        : { matched: false, fault: 'result_not_bool' };
    },
  };
}

/** An expression that gives a number. `evaluate` never throws; `value` is null with a fault. */
export interface Formula {
  readonly ok: true;
  readonly references: References;
  readonly evaluate: (variables: ScoreVariables) => { readonly value: number | null; readonly fault: string | null };
}

/** Compiles an expression that gives a score. */
export function compileFormula(source: string): Formula | MatchProblem {
  const program = compile(source, scoring, ['double', 'int']);
  if (!program.ok) return program;
  const { references, read } = program;
  return {
    ok: true,
    references,
    evaluate: (variables) => {
      const { value, fault } = evaluated(read, variables);
      if (fault !== null) return { value: null, fault };
      const figure = Number(value);
      return Number.isFinite(figure) ? { value: figure, fault: null } : { value: null, fault: 'result_not_a_number' };
    },
  };
}
