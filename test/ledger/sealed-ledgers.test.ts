import { expect } from 'chai'
import { v7 } from 'uuid'
import { registerCompany } from '#commands/company-commands.ts'
import { createCustomer, updateCustomer } from '#commands/person-commands.ts'
import { createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import { plainId, type SealedValue, sealedKeyId } from '#crypto/vault.ts'
import { exportLines, verifyLedger } from '#integrity/verify.ts'
import { type Command, type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAs, runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import { type Core, openCore } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { masterKeys } from '../support/master-key.ts'
import { expectSealed, openedEvents } from '../support/opened.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { openTestCore } from '../support/test-core.ts'
import { collect } from './event-store-contract.ts'

const MARK = 'Zuleica'

interface Customer {
  readonly id: number
  readonly name: string | null
  readonly phone: string | null
}

for (const [name, outside] of [
  ['Postgres', null],
  ['a store outside the transaction', createOutsideStore()],
] as [string, FaultyStore | null][]) {
  describe(`ledgers with sealed fields in ${name}`, () => {
    const database = useDatabase(outside ? 'withoutReadModel' : 'withReadModel')
    let core: Core
    let other: Core
    let companyId: number

    const start = () =>
      openTestCore(database.url, { ...(outside && { store: { ...outside, close: async () => {} } as FaultyStore }) })
    const stored = (): Promise<Envelope[]> => collect(core.store.read(streamName(companyId), 0))
    const create = (on: Core, phone: string | null = null): Promise<Customer> =>
      runAsSystem<Customer>(on.writer, companyId, createCustomer, {
        name: `${MARK} ${v7()}`,
        phone,
      }) as Promise<Customer>
    const update = (on: Core, id: number, changes: object): Promise<Customer> =>
      runAsSystem<Customer>(on.writer, companyId, updateCustomer, { id, changes }) as Promise<Customer>
    const keysOf = async (id: number) =>
      (
        await core.pool.query<{ part: string; key_id: string; is_there: boolean }>(
          `select part, key_id, wrapped is not null as is_there from ops.person_keys where subject = $1 order by part`,
          [`customer/${id}`],
        )
      ).rows

    before(async () => {
      core = await start()
      other = await start()
      const { rows } = await core.pool.query(`select nextval('ops.company_ids') as id`)
      companyId = rows[0].id
      await ensureLedger(core.pool, companyId)
      await runAsSystem(core.writer, companyId, registerCompany, companyRegistered({ id: companyId }).data as never)
    })
    after(async () => {
      await Promise.all([core.close(), other.close()])
    })

    it('contain no personal data in clear, and verify without any key [LEDGER-40]', async () => {
      const made = await create(core, '11 98888-7777')
      const events = await stored()
      expectSealed(events)
      const lines = (await collect(exportLines(core.store, companyId, 0))).join('')
      expect(lines).not.to.include(MARK).and.not.include('98888')
      const { pool, store } = core
      expect(await verifyLedger({ pool, store }, companyId)).to.include({ valid: true, revision: events.length - 1 })
      const created = (await openedEvents(core, companyId)).at(-1)
      expect(created).to.deep.equal({
        ...events.at(-1),
        data: { ...created?.data, name: made.name, phone: made.phone },
      })
    })

    it('have one key per part of a person for all writers, and none for missing data [LEDGER-40]', async () => {
      const made = await create(core)
      expect((await keysOf(made.id)).map(({ part }) => part)).to.deep.equal(['identity'])
      await Promise.all([
        update(core, made.id, { phone: '1' }),
        update(other, made.id, { phone: '2', email: 'z@z.example' }),
      ])
      await update(other, made.id, { name: `${MARK} e filhos ${made.id}` })
      const keys = await keysOf(made.id)
      expect(keys.map(({ part }) => part)).to.deep.equal(['contact', 'identity'])
      const events = (await stored()).filter(({ subject }) => subject === `customer/${made.id}`)
      const last = (events.at(-1) as Envelope).data as { changes: { name: SealedValue } }
      expect(sealedKeyId(last.changes.name)).to.equal(plainId(keys[1]?.key_id ?? ''))
      expect((await openedEvents(other, companyId)).at(-1)?.data).to.deep.equal({
        id: made.id,
        changes: { name: `${MARK} e filhos ${made.id}` },
      })
    })

    it('produce the same tables and the same as-of reads [LEDGER-10]', async () => {
      const { parity } = await core.rebuild()
      expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
      expect(await core.verifyTables(companyId)).to.deep.include({ kind: 'verified', differences: [] })
    })

    it('get no new key for a part with a destroyed key: new data is stored and shown as null [LEDGER-41]', async () => {
      const made = await create(core, '11 98888-0000')
      await core.pool.query(
        `update ops.person_keys set wrapped = null, destroyed_at = now() where subject = $1 and part = 'contact'`,
        [`customer/${made.id}`],
      )
      const before = await keysOf(made.id)
      const changed = await update(other, made.id, { phone: '11 97777-0000', name: `${MARK} ${v7()}` })
      expect(changed.phone).to.equal(null)
      expect(changed.name).to.include(MARK)
      expect(await keysOf(made.id)).to.deep.equal(before)
      expect(((await stored()).at(-1) as Envelope).data).to.have.nested.property('changes.phone', null)
      const [created] = (await openedEvents(core, companyId)).filter(({ subject }) => subject === `customer/${made.id}`)
      expect(created?.data).to.include({ name: made.name, phone: null })
    })

    if (outside) {
      for (const fault of ['after', 'late'] as const) {
        it(`can be opened if a process dies between append and COMMIT: ${fault} [LEDGER-40]`, async () => {
          outside.faults.push(fault)
          const made = await create(core, '11 90000-0000')
          outside.release()
          const created = (await openedEvents(other, companyId)).findLast(({ type }) => type === 'CustomerCreated')
          expect(created?.data).to.include({ id: made.id, name: made.name, phone: '11 90000-0000' })
        })
      }
    }
  })
}

const ROUNDS = 12

/** Owners that demote each other concurrently, each in a separate process. */
describe('the last owner of a company', () => {
  const database = useDatabase()
  let cores: Core[]

  before(async () => {
    const options = {
      masterKeys,
      databaseUrl: database.url,
      queryConnections: 2,
      log: console.error,
      onOutdated: () => {},
    }
    cores = [await openCore(options), await openCore(options)]
  })
  after(() => Promise.all(cores.map((core) => core.close())))

  for (const [what, command, input] of [
    ['demotes', updateUser, { role: 'clerk' }],
    ['deactivates', deactivateUser, {}],
  ] as const) {
    it(`remains if each of two ${what} the other [PANEL-8]`, async () => {
      const [core] = cores as [Core]
      for (let round = 1; round <= ROUNDS; round++) {
        const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
        const companyId = (rows[0] as { id: number }).id
        await ensureLedger(core.pool, companyId)
        await runAsSystem(core.writer, companyId, registerCompany, companyRegistered({ id: companyId }).data as never)
        const owners: number[] = []
        for (const name of ['ana', 'bia']) {
          const fields = { name, email: `${name}-${companyId}@loja.example`, role: 'owner' as const, password_hash: '' }
          owners.push(((await runAsSystem(core.writer, companyId, createUser, fields)) as UserObject).id)
        }
        const answers = await Promise.all(
          cores.map(({ writer }, me) => {
            const acting = { companyId, origin: 'pdv', actor: `user/${owners[me]}`, requestId: null } as const
            return runAs(writer, acting, command as Command<object>, { id: owners[1 - me], ...input })
          }),
        )
        const refused = answers.filter((answer) => isRefusal(answer))
        expect(refused).to.deep.equal([{ refused: 'last_owner' }])
        const { rows: left } = await core.pool.query(
          `select id from read.users
           where company_id = $1 and doc->>'role' = 'owner' and doc->>'status' = 'active'`,
          [companyId],
        )
        expect(left).to.have.length(1)
      }
    })
  }
})
