const { FOLDERS, INTERFACES } = require('./tools/folders.cjs')

const EXPRESS_OR_PG = '(^|/)node_modules/(express|pg|pg-[a-z-]+|@types/express|@types/pg)/'
const PATHS = FOLDERS.map(([path]) => path)

/** Files of a folder, without those of its parts that have a place of their own in the order. */
function filesOf(folder) {
  const parts = PATHS.filter((path) => path.startsWith(`${folder}/`)).map((path) => `^${path}/`)
  const path = folder.endsWith('.ts') ? `^${folder}$` : `^${folder}/`
  return parts.length > 0 ? { path, pathNot: parts } : { path }
}

/** No file of a folder imports from a folder after it. */
const order = PATHS.flatMap((folder, place) =>
  PATHS.slice(place + 1).map((later) => ({
    name: `${folder} comes before ${later}`,
    severity: 'error',
    from: filesOf(folder),
    to: filesOf(later),
  })),
)

const sideBySide = INTERFACES.map((folder) => ({
  name: `${folder} imports no other interface`,
  severity: 'error',
  from: { path: `^${folder}/` },
  to: { path: `^(${INTERFACES.filter((other) => other !== folder).join('|')})/` },
}))

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...order,
    ...sideBySide,
    {
      name: 'no-cycles',
      comment: 'Files of a cycle can only be understood, tested and loaded together.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every-folder-has-its-place',
      comment: 'A new folder is listed in tools/folders.cjs, where readers find what it is for.',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: PATHS.map((path) => (path.endsWith('.ts') ? `^${path}$` : `^${path}/`)) },
    },
    {
      name: 'no-blind-spots',
      comment: 'An import that cannot be resolved is one that no other rule can judge.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'pure-commands-and-projections',
      comment:
        'They decide and evolve state without I/O, so that replay gives the same tables and tests need no database.',
      severity: 'error',
      // Rollups are refreshed by statements, outside of transactions that record events.
      from: {
        path: '^(commands|projections|src/events|src/domain|src/records)/',
        pathNot: '^projections/sales-rollups.ts$',
      },
      // The transaction is a type that erasures are given.
      to: {
        path: [EXPRESS_OR_PG, '^src/postgres/', '^queries/'],
        pathNot: '^src/postgres/transaction.ts$',
      },
    },
    {
      name: 'the-till-stands-alone',
      comment: 'It runs in browsers and knows nothing of the service but the sync interface.',
      severity: 'error',
      from: { path: '^till/' },
      to: { path: '^(src|commands|projections|queries|demo)/' },
    },
    {
      name: 'sandbox-only-for-trying-things',
      comment: 'The service must not know whether the payment provider is real.',
      severity: 'error',
      from: { path: '^(src|demo)/', pathNot: '^(demo/provider-sandbox/|src/cli/)' },
      to: { path: '^demo/provider-sandbox/' },
    },
    {
      name: 'only-browsers-load-the-till',
      severity: 'error',
      from: { path: '^(src|commands|projections|queries|demo)/' },
      to: { path: '^till/' },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { pathNot: '^(test|bench|tools)/' },
      to: { path: '^(test|bench|tools)/' },
    },
    {
      name: 'no-late-packages',
      comment:
        'A name that a package does not export is an error where it is imported, but undefined after import(). A file that imports the package is loaded late instead.',
      severity: 'error',
      from: { path: '^(src|commands|projections|queries|demo)/' },
      to: { dynamic: true, dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg'] },
    },
    {
      name: 'no-development-packages-in-the-product',
      comment: 'A production installation does not have them.',
      severity: 'error',
      from: { path: '^(src|commands|projections|queries|demo)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // TypeScript 7 is a native program without the JavaScript interface that dependency-cruiser needs; swc parses instead,
    // and sees type-only imports too, since it looks at the source and not at the compiled result.
    parser: 'swc',
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
}
