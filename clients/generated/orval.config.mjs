/** Two outputs of one contract: functions that call, and zod schemas that check what they answer. */
export default {
  calls: {
    input: 'out/openapi.json',
    output: {
      target: 'out/orval/calls.ts',
      client: 'fetch',
      override: { mutator: { path: 'programs/fetcher.ts', name: 'fetcher' } },
    },
  },
  checks: {
    input: 'out/openapi.json',
    output: { target: 'out/orval/checks.ts', client: 'zod' },
  },
}
