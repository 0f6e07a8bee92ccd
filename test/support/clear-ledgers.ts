import type { Pool } from 'pg'
import { createCipher } from '#audit/reseal-cipher.ts'
import { companyOf, type Envelope, GENESIS_HASH, hashOf } from '#ledger/envelope.ts'
import type { Core } from '#service/core.ts'
import { collect } from '../ledger/event-store-contract.ts'
import { tamperBy } from './tamper.ts'

/** Makes the ledgers of a Postgres what 0.1 would have written: data about people in clear, under other hashes, and no keys. */
export async function asOf01({ pool, store, model, keys }: Core): Promise<void> {
  const cipher = createCipher({ pool, store, model, keys, newId: () => '', now: () => '' })
  for await (const stream of store.streams()) {
    const companyId = companyOf(stream) ?? 0
    let previous_hash = GENESIS_HASH
    const rewritten: Envelope[] = []
    for (const { hash: _, data, ...members } of await cipher.open(companyId, await collect(store.read(stream, 0)))) {
      const head = { ...members, previous_hash }
      const event: Envelope = { ...head, hash: hashOf({ ...head, data }), data }
      rewritten.push(event)
      previous_hash = event.hash
    }
    await write(pool, rewritten)
    await pool.query('update ops.ledgers set hash = $2 where company_id = $1', [companyId, previous_hash])
    await tamperBy(pool, 'insert into ops.clear_ledgers values ($1)', [companyId])
  }
  await tamperBy(pool, 'delete from ops.resealed_ledgers')
  await pool.query('delete from ops.person_keys')
}

const write = (pool: Pool, events: readonly Envelope[]) =>
  tamperBy(
    pool,
    `update ledger.events e set envelope = w.envelope::json from unnest($1::text[], $2::bigint[], $3::text[]) as w (stream, revision, envelope)
     where e.stream = w.stream and e.revision = w.revision`,
    [
      events.map(({ stream }) => stream),
      events.map(({ revision }) => revision),
      events.map((event) => JSON.stringify(event)),
    ],
  )
