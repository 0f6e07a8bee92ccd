import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { purgeTables } from '../support/purge.ts'
import { addEndpoint, createEndpoints, queue } from './outbox.ts'

describe('old deliveries', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 2 })
    await createEndpoints(pool)
  })
  after(() => pool.end())

  const rows = async (table: string) =>
    (await pool.query<{ id: string }>(`select id from ${table} order by id`)).rows.map(({ id }) => id)

  it('are deleted after 30 days with their messages, unless they are pending [HOOK-27, OPS-22]', async () => {
    const endpoint = await addEndpoint(pool, 'http://127.0.0.1/')
    const [old, waiting, recent, oldButAskedAgain] = await queue(pool, endpoint, 4)
    const { rows: before } = await pool.query<{ id: string; message_id: string }>(
      'select id, message_id from webhook_deliveries',
    )
    const messageOf = (id: string | undefined) => before.find((delivery) => delivery.id === id)?.message_id
    await pool.query(`update webhook_deliveries set status = 'delivered', next_attempt_at = null where id = any($1)`, [
      [old, recent],
    ])
    const aged = `created_at = now() - interval '30 days 1 hour'`
    await pool.query(`update webhook_deliveries set ${aged} where id = any($1)`, [[old, waiting, oldButAskedAgain]])
    await pool.query(`update webhook_messages set ${aged}`)
    expect(await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')).to.equal(2)
    expect(await rows('webhook_deliveries')).to.have.members([waiting, recent, oldButAskedAgain])
    expect(await rows('webhook_messages')).to.have.members([waiting, recent, oldButAskedAgain].map(messageOf))
    expect(await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')).to.equal(0)
  })

  it('are all deleted, in batches', async () => {
    await queue(pool, await addEndpoint(pool, 'http://127.0.0.1/'), 6_000)
    await pool.query(
      `update webhook_deliveries set status = 'failed', next_attempt_at = null, created_at = now() - interval '31 days'`,
    )
    await pool.query(`update webhook_messages set created_at = now() - interval '31 days'`)
    await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')
    expect([await rows('webhook_deliveries'), await rows('webhook_messages')]).to.deep.equal([[], []])
  })
})
