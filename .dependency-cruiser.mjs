/**
 * The import table. A room is a folder of `src/`; `rooms` says which other rooms it may import, `packages` says the
 * only place an npm package may be imported from. Test files may import anything.
 */
export const rooms = {
  core: [],
  lib: [],
  routing: ['core', 'lib'],
  extproc: ['core', 'lib'],
  stations: ['core', 'lib', 'routing'],
  dialects: ['core', 'lib'],
  flow: ['core', 'lib', 'stations'],
  picker: ['core', 'lib', 'routing', 'stations'],
  store: ['core', 'lib'],
  telemetry: ['core', 'lib'],
  audit: ['core', 'lib'],
  control: ['core', 'lib'],
  admin: ['core', 'lib'],
  services: ['core', 'lib'],
  cost: ['core', 'lib'],
  ui: [],
  config: ['core', 'lib'],
  render: ['core', 'lib', 'config'],
  app: [
    'core',
    'lib',
    'routing',
    'extproc',
    'stations',
    'dialects',
    'flow',
    'picker',
    'store',
    'telemetry',
    'audit',
    'control',
    'admin',
    'services',
    'cost',
    'config',
    'render',
  ],
  cli: ['core', 'lib', 'config', 'render', 'cost', 'ui', 'app'],
};

/** npm package -> the one folder below `src/` that may import it (a pattern where there are two). */
export const packages = {
  '@grpc/grpc-js': 'extproc',
  '@grpc/proto-loader': 'extproc',
  jose: 'stations/authenticate',
  '@marcbachmann/cel-js': 'stations/route',
  '@huggingface/jinja': 'dialects',
  ioredis: 'store',
  'prom-client': 'telemetry',
  pino: 'telemetry',
  yaml: 'config',
  zod: '(config|admin)',
  fastify: 'admin',
  commander: 'cli',
  'hyparquet-writer': 'cost',
};

const TEST = String.raw`\.test\.ts$`;

const roomRules = Object.entries(rooms).map(([room, allowed]) => ({
  name: `room-${room}`,
  comment: `src/${room} may import only: ${[room, ...allowed].join(', ')}`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: TEST },
  to: { path: '^src/', pathNot: `^src/(${[room, ...allowed].join('|')})/` },
}));

/** Folders directly below these rooms do not know each other; files directly in the room may know them all. */
const siblingRules = ['stations', 'dialects'].map((room) => ({
  name: `no-sibling-${room}`,
  comment: `one folder of src/${room} never imports another`,
  severity: 'error',
  from: { path: `^src/${room}/([^/]+)/`, pathNot: TEST },
  to: { path: `^src/${room}/[^/]+/`, pathNot: `^src/${room}/$1/` },
}));

const packageRules = Object.entries(packages).map(([name, place]) => ({
  name: `package-${name}`,
  comment: `${name} is imported only from src/${place}`,
  severity: 'error',
  from: { path: '^src/', pathNot: [`^src/${place}/`, TEST] },
  to: { path: `(^|/)node_modules/${name}/` },
}));

export default {
  forbidden: [
    ...roomRules,
    ...siblingRules,
    ...packageRules,
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'src-stands-alone',
      comment: 'src never imports tests, scripts or benches',
      severity: 'error',
      from: { path: '^src/', pathNot: TEST },
      to: { path: ['^(test|scripts|bench)/', TEST] },
    },
    {
      name: 'no-dev-package',
      comment: 'what ships imports only runtime dependencies',
      severity: 'error',
      from: { path: '^src/', pathNot: TEST },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'core-and-lib-without-io',
      comment: 'core and lib do no I/O; of `net`, lib/address uses what compares addresses',
      severity: 'error',
      from: { path: '^src/(core|lib)/', pathNot: [TEST, '^src/lib/address/'] },
      to: {
        dependencyTypes: ['core'],
        path: '^(node:)?(fs|fs/promises|net|tls|http|https|http2|dns|dgram|child_process|cluster|worker_threads)$',
      },
    },
    {
      name: 'ui-runs-in-browsers',
      comment: 'src/ui is served as it is: no package, nothing of Node',
      severity: 'error',
      from: { path: '^src/ui/', pathNot: TEST },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'ui-browser-behind-the-rest',
      comment: 'only src/ui/browser knows the document of a browser, and nothing that runs elsewhere imports it',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/ui/browser/', TEST] },
      to: { path: '^src/ui/browser/' },
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|\\.cache|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
