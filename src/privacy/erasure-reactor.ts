import type { DataOf } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/envelope.ts'
import type { Reactor } from '#ledger/reactor.ts'
import { emailsOf } from '#privacy/login-erasure.ts'
import { erasePerson, idsOf } from './erase-person.ts'

const forgottenBy = ({ data }: Envelope) => data as DataOf<'PersonForgotten'>

/** Erases a person from `ops` in the transaction of the event (PRIV-30). `onForgotten` runs after the commit. */
export function createErasureReactor(onForgotten: () => void = () => {}) {
  let hasErased = false
  const reactor: Reactor = {
    refs: (_rows, { type }) => (type === 'PersonForgotten' ? [] : null),
    react() {},
    look: (tx, companyId, event) => emailsOf(tx, companyId, idsOf(forgottenBy(event), 'user')),
    async finish(tx, companyId, event, emails) {
      await erasePerson(tx, companyId, forgottenBy(event), emails)
      hasErased = true
    },
  }
  return {
    reactor,
    /** Must be called after each commit. */
    onCommitted() {
      if (hasErased) onForgotten()
      hasErased = false
    },
  }
}
