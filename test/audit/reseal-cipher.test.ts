import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import type { Cipher } from '#audit/reseal.ts'
import { createCipher } from '#audit/reseal-cipher.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { createPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import { ordinary, sealedAfter } from '../ledger/sealed-events.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'

const COMPANY = 4711
const STREAM = `company-${COMPANY}`

describe('events of 0.1 that are sealed', () => {
  const database = useDatabase()
  let pool: Pool
  let cipher: Cipher
  let clear: Envelope[]

  before(async () => {
    pool = createPool(database.url, { max: 2 })
    const store = createOutsideStore()
    const account = {
      external_id: null,
      description: 'Fiado',
      amount: '10.00',
      due_date: '2026-12-01',
      origin: 'manual',
      sale_id: null,
    }
    const told: [type: string, subject: string, data: object][] = [
      ['ReceivableCreated', 'receivable/5', { id: 5, ...account, customer_id: 9, customer_name: 'Ana' }],
      ['ReceivableUpdated', 'receivable/5', { id: 5, changes: { customer_name: 'Ana Maria' } }],
      ['ReceivableUpdated', 'receivable/5', { id: 5, changes: { amount: '12.00' } }],
      ['CustomerUpdated', 'customer/10', { id: 10, changes: { name: 'Bia', phone: '11987654321' } }],
    ]
    clear = sealedAfter(STREAM, null, ordinary(told.length)).map((event, place) => {
      const [type, subject, data] = told[place] as (typeof told)[number]
      return { ...event, type, version: 1, subject, data }
    })
    await store.append([{ stream: STREAM, expectedRevision: -1, commands: [clear] }], undefined as never)
    const keys = keysIn(pool)
    cipher = createCipher({ pool, store, model: readModel, keys, newId: uuidv7, now: () => '2026-11-22T12:00:00.000Z' })
  })
  after(() => pool.end())

  const ownersOfKeys = async () => {
    const { rows } = await pool.query('select subject, part from ops.person_keys order by subject, part')
    return rows.map(({ subject, part }) => `${subject} ${part}`)
  }

  it('tell nothing in clear, and open as what they were, an account’s new name without its id too [PRIV-52]', async () => {
    const sealed = await cipher.seal(COMPANY, clear)
    expect(JSON.stringify(sealed)).to.not.match(/Ana|Bia|11987654321/)
    expect(sealed[1]?.data).to.have.nested.property('changes').that.has.all.keys('customer_name')
    expect(sealed[2]).to.deep.equal(clear[2])
    expect(await cipher.open(COMPANY, sealed)).to.deep.equal(clear)
    expect(await ownersOfKeys()).to.deep.equal(['customer/10 contact', 'customer/10 identity', 'customer/9 identity'])
  })

  it('stay as they are where they are sealed already, and use the same keys [PRIV-58]', async () => {
    const sealed = await cipher.seal(COMPANY, clear)
    expect(await cipher.seal(COMPANY, sealed)).to.deep.equal(sealed)
    expect(await ownersOfKeys()).to.have.length(3)
  })

  it('do not bring back whom somebody has forgotten meanwhile [PRIV-52]', async () => {
    const sealed = await cipher.seal(COMPANY, clear)
    await pool.query(`update ops.person_keys set wrapped = null, destroyed_at = now() where subject = 'customer/9'`)
    const again = await cipher.seal(COMPANY, clear)
    for (const events of [sealed, again, clear]) {
      const opened = await cipher.open(COMPANY, events)
      expect(opened[0]?.data).to.include({ customer_id: 9, customer_name: null })
      expect(opened[1]?.data).to.deep.equal({ id: 5, changes: { customer_name: null } })
      expect(opened[3]?.data).to.deep.equal(clear[3]?.data)
    }
    expect(JSON.stringify(again)).to.not.include('Ana')
  })
})
