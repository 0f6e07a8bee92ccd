import type { DataOf } from '#events/catalogue.ts'
import { destroyKeys, keysOf } from '#ledger/person-keys.ts'
import type { Reactor } from '#ledger/reactor.ts'

const dataOf = ({ data }: { readonly data: object }) => data as DataOf<'PersonForgotten'>

/** Destroys the keys of erased persons in every transaction that applies the event (PRIV-2). */
export const keyDestruction: Reactor = {
  refs(_rows, event) {
    if (event.type !== 'PersonForgotten') return null
    const { subjects, parts } = dataOf(event)
    return keysOf(subjects, parts)
  },
  react(rows, event, _record, { newId, now, companyId }) {
    const { subjects, parts } = dataOf(event)
    destroyKeys(rows, companyId, subjects, parts, { newId, now })
  },
}
