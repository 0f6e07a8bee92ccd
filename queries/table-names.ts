import { markTable } from '#ledger/table.ts'
import type { RULES } from './tables.ts'

/** A table with a rule. */
export type RuledTable = keyof typeof RULES

/**
 * Names of tables for statements: ``from ${t.sales} s``. Apart from the rules, which load the types of events: a command
 * that lists records needs none.
 */
export const t = new Proxy({} as { readonly [N in RuledTable]: string }, {
  get: (_, name) => markTable(String(name)),
})
