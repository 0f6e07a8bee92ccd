import { ENVELOPES } from './glossary/envelopes.ts'
import { FINANCE } from './glossary/finance.ts'
import { LEDGER } from './glossary/ledger.ts'
import { ORDERS } from './glossary/orders.ts'
import { TRADE } from './glossary/trade.ts'

type Texts = Readonly<Record<string, string>>

/**
 * What each field means, in Portuguese, for requests and answers alike: one text per name, so that a field is explained the
 * same way wherever it stands. A name that depends on its place is looked up with its parents first: `address.number`.
 */
export const GLOSSARY: Texts = together(ENVELOPES, TRADE, ORDERS, FINANCE, LEDGER)

/** @throws where a name has two texts */
function together(...parts: readonly Texts[]): Texts {
  const texts = new Map<string, string>()
  for (const [name, text] of parts.flatMap(Object.entries<string>)) {
    if (texts.has(name)) throw new Error(`the glossary has two texts for ${name}`)
    texts.set(name, text)
  }
  return Object.fromEntries(texts)
}
