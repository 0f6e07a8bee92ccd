import type { Name } from './commands.ts'
import type { Verb } from './verb.ts'

const ledger = () => import('./ledger.ts')
const seal = () => import('./ledger-seal.ts')
const lists = () => import('./lists.ts')
const cells = () => import('./cells.ts')

/** Files of verbs, by first word or full name. Only the file of the current verb is loaded. */
const FILES: Readonly<Record<string, () => Promise<{ readonly verbs: object }>>> = {
  'company list': lists,
  'key list': lists,
  'payment-type list': lists,
  'store list': lists,
  'user list': lists,
  company: () => import('./companies.ts'),
  'company export': cells,
  'company import': cells,
  'company remove': cells,
  'company reopen': cells,
  'payment-type': () => import('./payment-types.ts'),
  user: () => import('./users.ts'),
  person: () => import('./persons.ts'),
  key: () => import('./keys.ts'),
  'person export': () => import('./person-export.ts'),
  'person lost-keys': () => import('./lost-keys.ts'),
  sale: () => import('./sales.ts'),
  store: () => import('./stores.ts'),
  'master-key': () => import('./master-key.ts'),
  'seal-key': seal,
  'ledger verify': () => import('./ledger-verify.ts'),
  'ledger seal': seal,
  'ledger public-key': seal,
  'ledger attestors': () => import('./ledger-attestors.ts'),
  'ledger export': () => import('./ledger-export.ts'),
  'audit pack': () => import('./audit-pack.ts'),
  'ledger history': ledger,
  'ledger as-of': ledger,
  'ledger correct-clock': () => import('./ledger-clock.ts'),
  'ledger copy': () => import('./ledger-copy.ts'),
  restored: () => import('./restored.ts'),
  'database prepare': () => import('./database.ts'),
  'database rebuild': () => import('./database-rebuild.ts'),
  projections: () => import('./projections.ts'),
  'provider-sandbox': () => import('./provider-sandbox.ts'),
  witness: () => import('./witness.ts'),
  'time-stamp-authority': () => import('./time-stamp-authority.ts'),
  listen: () => import('./listen.ts'),
  trigger: () => import('./trigger.ts'),
  till: () => import('./till.ts'),
  demo: () => import('./demo.ts'),
}

/** Loads the code of a verb. */
export async function load(name: Name): Promise<Verb> {
  const file = FILES[name] ?? FILES[name.split(' ')[0] as string]
  const { verbs } = (await file?.()) ?? { verbs: {} }
  const verb = (verbs as Partial<Record<Name, Verb>>)[name]
  if (!verb) throw new Error(`command "${name}" has no implementation; add it to FILES in src/cli/load.ts`)
  return verb
}
