import type { Pool } from 'pg'
import type { Part } from '#domain/personal-data.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { createKeychain, keysOf, type PersonKeys } from '#ledger/person-keys.ts'
import { openData, ownersOf, type PersonalField, sealData, sealedWith } from '#ledger/personal-fields.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { search } from '#ledger/reading.ts'
import { createWorkingSet } from '#ledger/working-set.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { Cipher } from './reseal.ts'

interface CipherOptions {
  readonly pool: Pool
  /** The ledgers as they are. */
  readonly store: EventStore
  readonly model: ReadModel
  readonly keys: PersonKeys
  readonly newId: () => string
  /** UTC. */
  readonly now: () => string
}

/** Events of 0.1 in both forms; keys that are missing are made, and are on the disk before anything sealed with them is. */
export function createCipher(options: CipherOptions): Cipher {
  return {
    async seal(companyId, events) {
      const { sealed, made } = await sealAll(options, companyId, events)
      if (made.length > 0) await options.keys.save(made)
      return sealed.map(({ stored }) => stored)
    },
    async open(companyId, events) {
      const { model, keys } = options
      const ids = new Set(events.flatMap((event) => sealedWith(event, model.personalFields(event))))
      const secrets = ids.size === 0 ? new Map() : await keys.find([...ids])
      // What is in clear is read as its sealed form would be: without those who were forgotten meanwhile.
      const { sealed } = await sealAll(options, companyId, events)
      return events.map((event, place) => {
        const fields = model.personalFields(event)
        if (isSealed(event, fields)) return { ...event, data: openData(event, fields, secrets) }
        return sealed[place]?.opened ?? event
      })
    },
  }
}

/** Of an event that was written with seals, all that is not null is sealed. */
const isSealed = (event: Envelope, fields: readonly PersonalField[]): boolean => sealedWith(event, fields).length > 0

interface BothForms {
  readonly stored: Envelope
  readonly opened: Envelope
}

async function sealAll(options: CipherOptions, companyId: number, events: readonly Envelope[]) {
  const { pool, model, keys, newId, now } = options
  const named: { event: Envelope; whole: Envelope; fields: readonly PersonalField[] }[] = []
  for (const event of events) {
    const all = model.personalFields(event)
    const fields = isSealed(event, all) ? [] : all
    named.push({ event, whole: fields.length === 0 ? event : await withParty(options, companyId, event), fields })
  }
  const set = createWorkingSet()
  const owners = named.flatMap(({ whole, fields }) => ownersOf(whole, fields))
  set.want(
    companyId,
    owners.flatMap(([subject, part]) => keysOf([subject], [part])),
  )
  if (owners.length > 0) await inTransaction(pool, (tx) => Promise.all(set.load(tx)))
  const keychain = createKeychain(keys.vault, newId)
  const at = now()
  const keyOf = (subject: string, part: Part) =>
    keychain.keyOf(set.of(companyId), { company_id: companyId, subject, part }, at)
  const sealed = named.map(({ event, whole, fields }): BothForms => {
    if (fields.length === 0) return { stored: event, opened: event }
    const { stored, opened } = sealData(whole, event.id, fields, keyOf)
    return {
      stored: { ...event, data: likeBefore(event, stored) },
      opened: { ...event, data: likeBefore(event, opened) },
    }
  })
  return { sealed, made: keychain.made }
}

/** Where 0.1 wrote the new name of an account's party without its id. */
const PARTIES = { ReceivableUpdated: 'customer', PayableUpdated: 'supplier' } as const

type Changes = Readonly<Record<string, unknown>>
const changesOf = ({ data }: Pick<Envelope, 'data'>): Changes => (data as { changes?: Changes }).changes ?? {}

/** The id member that such an event lacks; null for all others. */
function missingIdOf(event: Envelope): string | null {
  const party = PARTIES[event.type as keyof typeof PARTIES]
  if (!party) return null
  const changes = changesOf(event)
  return changes[`${party}_name`] != null && changes[`${party}_id`] == null ? `${party}_id` : null
}

/** The event with the id of the party whose name it tells, which the events of the account before it say. */
async function withParty({ store }: CipherOptions, companyId: number, event: Envelope): Promise<Envelope> {
  const member = missingIdOf(event)
  if (!member) return event
  let id: unknown = null
  for (let from = 0; from < event.revision; ) {
    const wanted = {
      fromRevision: from,
      toRevision: event.revision - 1,
      types: null,
      subject: event.subject,
      limit: 500,
    }
    const page = await search(store, streamOf(companyId), wanted)
    for (const { json } of page.events) {
      const before = JSON.parse(json) as Envelope
      id = (before.data as Changes)[member] ?? changesOf(before)[member] ?? id
    }
    from = page.seenTo + 1
  }
  return { ...event, data: { ...event.data, changes: { ...changesOf(event), [member]: id } } }
}

/** Without the id that was put in to find the key. */
function likeBefore(event: Envelope, data: object): object {
  const member = missingIdOf(event)
  if (!member) return data
  const { [member]: _, ...changes } = changesOf({ data })
  const had = member in changesOf(event) ? { [member]: changesOf(event)[member] } : {}
  return { ...data, changes: { ...changes, ...had } }
}
