import { companyVerbs } from './companies.ts'
import { demo } from './demo.ts'
import { keyVerbs } from './keys.ts'
import { ledgerVerbs } from './ledger.ts'
import { paymentTypeVerbs } from './payment-types.ts'
import { projectionVerbs } from './projections.ts'
import { providerSandbox } from './provider-sandbox.ts'
import { saleVerbs } from './sales.ts'
import { storeVerbs } from './stores.ts'
import { till } from './till.ts'
import { userVerbs } from './users.ts'
import type { Flags, Verb } from './verb.ts'

/** Verbs that belong together, as `company create` and `company list`. */
export type Group = Readonly<Record<string, Verb>>

/** Everything that the command line can do: groups of verbs, and verbs that stand alone. */
export const COMMANDS: Readonly<Record<string, Group | Verb>> = {
  company: companyVerbs,
  'payment-type': paymentTypeVerbs,
  user: userVerbs,
  key: keyVerbs,
  sale: saleVerbs,
  store: storeVerbs,
  ledger: ledgerVerbs,
  projections: projectionVerbs,
  'provider-sandbox': providerSandbox,
  till,
  demo,
}

const isVerb = (entry: Group | Verb): entry is Verb => typeof entry.run === 'function'

/** A verb with the words that name it. */
export interface Named {
  readonly name: string
  readonly verb: Verb
}

/** What the first words of a command line mean: a verb with the words after it, or the verbs that could be meant. */
export function find(words: readonly string[]): (Named & { rest: readonly string[] }) | { candidates: Named[] } {
  const [group = '', name = ''] = words
  const entry = Object.hasOwn(COMMANDS, group) ? COMMANDS[group] : undefined
  if (!entry) return { candidates: Object.entries(COMMANDS).flatMap(([key, value]) => namedIn(key, value)) }
  if (isVerb(entry)) return { name: group, verb: entry, rest: words.slice(1) }
  const verb = Object.hasOwn(entry, name) ? entry[name] : undefined
  if (!verb) return { candidates: namedIn(group, entry) }
  return { name: `${group} ${name}`, verb, rest: words.slice(2) }
}

function namedIn(group: string, entry: Group | Verb): Named[] {
  if (isVerb(entry)) return [{ name: group, verb: entry }]
  return Object.entries(entry).map(([name, verb]) => ({ name: `${group} ${name}`, verb }))
}

/** How a verb is called, and what it does. */
export function usageOf({ name, verb }: Named): string {
  const flags = Object.entries(verb.flags as Flags).map(([flag, { required, value }]) => {
    const words = flag === verb.positional ? value : [`--${flag}`, value ?? []].flat().join(' ')
    return required ? words : `[${words}]`
  })
  return `  ${[name, ...flags].join(' ')}\n      ${verb.summary}`
}
