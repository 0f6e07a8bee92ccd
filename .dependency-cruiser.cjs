/**
 * Which folder may import which. The direction is `http -> commands, queries -> events, domain`: what decides and what
 * evolves state stays pure, and the ledger knows no business.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
const OWN_FOLDERS = '^(src|commands|projections|queries|test|bench|tools)/'
const EXPRESS_OR_PG = '(^|/)node_modules/(express|pg|pg-[a-z-]+|@types/express|@types/pg)/'

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files of a cycle can only be understood, tested and loaded together.',
      severity: 'error',
      from: {},
      to: { circular: true },
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
      from: { path: '^(commands|projections)/' },
      to: { path: [EXPRESS_OR_PG, '^src/(http|postgres)/'] },
    },
    {
      name: 'ledger-knows-no-business',
      comment: 'Writer, working set, catch-up and rebuild are generic; the types of the domain are handed to them.',
      severity: 'error',
      from: { path: '^src/ledger/' },
      to: { path: '^(commands|projections|queries|src/(http|events))/' },
    },
    {
      name: 'events-know-only-the-domain',
      severity: 'error',
      comment: 'Events also know the envelope that carries them.',
      from: { path: '^src/events/' },
      to: { path: [OWN_FOLDERS, EXPRESS_OR_PG], pathNot: '^src/(events|domain|ledger/envelope)' },
    },
    {
      name: 'domain-knows-only-itself',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { path: [OWN_FOLDERS, EXPRESS_OR_PG], pathNot: '^src/domain/' },
    },
    {
      name: 'queries-only-read',
      severity: 'error',
      from: { path: '^queries/' },
      to: { path: '^(src/http|commands)/' },
    },
    {
      name: 'http-is-the-outside',
      comment: 'Only the composition root, other outer parts of src, generators and tests know the HTTP layer.',
      severity: 'error',
      from: { path: OWN_FOLDERS, pathNot: '^(src|test|tools)/' },
      to: { path: '^src/http/' },
    },
    {
      name: 'no-sandbox-in-the-product',
      comment: 'The service must not know whether the payment provider is real.',
      severity: 'error',
      from: { path: OWN_FOLDERS, pathNot: '^(test/|src/sandbox/|src/cli/provider-sandbox)' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { pathNot: '^(test|bench|tools)/' },
      to: { path: '^(test|bench|tools)/' },
    },
    {
      name: 'no-development-packages-in-the-product',
      comment: 'A production installation does not have them.',
      severity: 'error',
      from: { path: '^(src|commands|projections|queries)/' },
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
