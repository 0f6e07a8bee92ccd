import { expect } from 'chai'
import type { PersonKind, PersonPart } from '#domain/person-values.ts'
import { refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { type DataOf, EVENT_TYPES, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { guardRefusal } from '#ledger/write/unit-of-work.ts'
import { orderById } from '#projections/orders.ts'
import {
  customerByExternalId,
  customerById,
  customerByName,
  customers,
  erasureRef,
  supplierById,
  suppliers,
} from '#projections/people.ts'
import { saleById } from '#projections/sales.ts'
import { liveUser, panelSessions, persons, tillTokens, userByEmail, userById } from '#projections/users.ts'
import {
  approved,
  companyRegistered,
  customerCreated,
  fiscalDocument,
  noDetails,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  saleCompleted,
  storeCreated,
  supplierCreated,
  userCreated,
  userInvited,
} from '../support/facts.ts'
import { COMPANY_ID, given, lineageOf, minute } from '../support/given.ts'

const created = customerCreated({ id: 3, external_id: 'a', name: 'José  Silva', document: '52998224725' })
const deleted = event('CustomerDeleted', { id: 3 })
const byId = customerById(3)

describe('customers projection', () => {
  it('writes a row with all columns and the API’s object', async () => {
    const scenario = await given(companyRegistered(), created)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.have.all.keys(Object.keys(customers.columns))
    expect(row).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'a',
      name_key: 'josé silva',
      sort_key: 'jose silva\njosé silva',
      search: 'jose silva\na',
      document: '52998224725',
      phone_key: null,
      deleted_at: null,
      ...lineageOf(1),
      doc: {
        ...created.data,
        state_registration: null,
        ie_indicator: null,
        metadata: null,
        forgotten_at: null,
        forgetting_due_on: null,
        created_at: '2026-03-10T12:01:00.000-03:00',
        updated_at: '2026-03-10T12:01:00.000-03:00',
        deleted_at: null,
      },
    })
  })

  it('keeps the order of the fields through every change', async () => {
    const scenario = await given(companyRegistered(), created)
    const before = Object.keys((await scenario.show('customer/3')) as object)
    const changes = { notes: 'n', name: 'José Souza' }
    const updated = event('CustomerUpdated', { id: 3, changes })
    const revived = event('CustomerRevived', { ...created.data, name: 'José' } as DataOf<'CustomerRevived'>)
    const changed = await given(companyRegistered(), created, updated)
    expect(Object.keys((await changed.show('customer/3')) as object)).to.deep.equal(before)
    const back = await given(companyRegistered(), created, deleted, revived)
    expect(Object.keys((await back.show('customer/3')) as object)).to.deep.equal(before)
  })

  it('updates the time of change and the columns that repeat fields of the object', async () => {
    const changes = { name: 'Zé', external_id: null, document: null }
    const scenario = await given(companyRegistered(), created, event('CustomerUpdated', { id: 3, changes }))
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ name_key: 'zé', external_id: null, document: null, revision: 2, changed_at: minute(2) })
    expect(row?.doc).to.include({
      created_at: '2026-03-10T12:01:00.000-03:00',
      updated_at: '2026-03-10T12:02:00.000-03:00',
      deleted_at: null,
    })
  })

  it('releases the name of a deleted customer and keeps its external id', async () => {
    const scenario = await given(companyRegistered(), created, deleted)
    const rows = await scenario.rows(byId, customerByName('José Silva'), customerByExternalId('a'))
    expect(rows.get(customerByName('José Silva'))).to.equal(null)
    const row = rows.get(customerByExternalId('a'))
    expect(row).to.include({ id: 3, name_key: null, deleted_at: minute(2), revision: 2, changed_at: minute(2) })
    expect(await scenario.show('customer/3')).to.equal(null)
  })

  it('erases all personal fields of a deleted customer [PERSON-10]', async () => {
    const address = { zip: '1', street: 'Rua', number: '9', complement: 'a', district: 'b', city: 'c', state: 'SP' }
    const told = { phone: '11999990000', email: 'jose@ex.example', notes: 'alérgico', address }
    const scenario = await given(companyRegistered(), customerCreated({ ...created.data, ...told }), deleted)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ name_key: null, sort_key: '\n', search: 'a', document: null, external_id: 'a' })
    const personal = Object.entries(EVENT_TYPES.CustomerCreated.data.shape).filter(
      ([, field]) => field.meta()?.personal,
    )
    expect(personal).to.have.length(6)
    // A required text is empty, an optional one null.
    for (const [name] of personal) expect(row?.doc, name).to.have.property(name).that.is.oneOf([null, ''])
  })

  it('revives a customer under its id, with its time of creation', async () => {
    const revived = event('CustomerRevived', { id: 3, ...noDetails, external_id: 'a', name: 'Ana' })
    const scenario = await given(companyRegistered(), created, deleted, revived)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ deleted_at: null, name_key: 'ana', document: null, revision: 3 })
    expect(row?.doc).to.deep.equal({
      ...revived.data,
      state_registration: null,
      ie_indicator: null,
      metadata: null,
      forgotten_at: null,
      forgetting_due_on: null,
      created_at: '2026-03-10T12:01:00.000-03:00',
      updated_at: '2026-03-10T12:03:00.000-03:00',
      deleted_at: null,
    })
  })
})

describe('suppliers projection', () => {
  const created = supplierCreated({ id: 3, external_id: 'a', name: 'Moinho  Ltda', trade_name: 'Moinho' })
  const byId = supplierById(3)

  it('writes a row with all columns, in a table separate from customers', async () => {
    const scenario = await given(companyRegistered(), created)
    const rows = await scenario.rows(byId, customerByExternalId('a'))
    expect(rows.get(byId)).to.have.all.keys(Object.keys(suppliers.columns))
    expect(rows.get(byId)).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'a',
      name_key: 'moinho ltda',
      sort_key: 'moinho ltda\nmoinho ltda',
      search: 'moinho ltda\nmoinho\na',
      document: null,
      phone_key: null,
      deleted_at: null,
      ...lineageOf(1),
      doc: {
        ...created.data,
        forgotten_at: null,
        forgetting_due_on: null,
        metadata: null,
        created_at: '2026-03-10T12:01:00.000-03:00',
        updated_at: '2026-03-10T12:01:00.000-03:00',
        deleted_at: null,
      },
    })
    expect(rows.get(customerByExternalId('a'))).to.equal(null)
  })
})

const email = 'ana@loja.example'
const ROLE = 'clerk' as const
const ana = userCreated({ id: 3, email, role: ROLE })

describe('users of a company and their persons', () => {
  it('live streams end with token, password or role, in all companies [KEY-21]', async () => {
    const hash = Buffer.alloc(32, 7)
    const caller = { userId: 3, generation: 0, email, personGeneration: 0 }
    for (const [table, of] of [
      [panelSessions, { sessionHash: hash }],
      [tillTokens, { tokenHash: hash, role: ROLE }],
    ] as const) {
      const guard = liveUser({ ...caller, ...of })
      const holds = async (
        { generation = 0, revoked_at = null as string | null, expires_at = null as string | null, is_there = true },
        ...more: NewEvent[]
      ) => {
        const rows = (await (await given(companyRegistered(), ana, ...more)).rows(...guard.needs)) as Changes
        rows.put(persons, { email, password_hash: 'x', generation })
        if (is_there) rows.put(table, { hash, revoked_at, expires_at })
        return guard.holds(rows, minute(9))
      }
      expect(await holds({})).to.equal(true)
      expect(await holds({ expires_at: minute(10) })).to.equal(true)
      expect(await holds({ expires_at: minute(9) })).to.equal(false)
      expect(await holds({ revoked_at: minute(8) })).to.equal(false)
      expect(await holds({ is_there: false })).to.equal(false)
      expect(await holds({ generation: 1 })).to.equal(false)
      expect(await holds({}, event('UserDeactivated', { id: 3 }))).to.equal(false)
      const moved = event('UserUpdated', { id: 3, changes: { role: 'manager' } })
      expect(await holds({}, moved)).to.equal(table === panelSessions)
    }
  })

  it('forms need their permissions until they are decided [ROLE-723]', async () => {
    const hash = Buffer.alloc(32, 7)
    const caller = { userId: 3, generation: 0, email, personGeneration: 0, sessionHash: hash }
    const refusal = async (permissions: Permission[], ...more: NewEvent[]) => {
      const guard = liveUser(caller, null, permissions)
      const rows = (await (await given(companyRegistered(), ana, ...more)).rows(...guard.needs)) as Changes
      rows.put(persons, { email, password_hash: 'x', generation: 0 })
      rows.put(panelSessions, { hash, revoked_at: null, expires_at: null })
      return guardRefusal(guard, rows, minute(9))
    }
    const clerks = { role: ROLE, return_limit: null, discount_limit: null }
    const adjusted = event('RoleAdjusted', { id: COMPANY_ID, ...clerks, permissions: ['edit_catalog'] })
    expect(await refusal(['edit_catalog'], adjusted)).to.equal(null)
    expect(await refusal(['edit_catalog', 'import'])).to.deep.equal(
      refuse('permission_required', { permission: 'import' }),
    )
    expect(await refusal(['sell'], adjusted)).to.deep.equal(refuse('permission_required', { permission: 'sell' }))
  })

  it('assign an address to the first user of the company: restored ledgers may have duplicates', async () => {
    const scenario = await given(companyRegistered(), ana, userInvited({ id: 4, email }))
    expect((await scenario.rows(userByEmail(email))).get(userByEmail(email))?.id).to.equal(3)
    expect(await scenario.show('user/4')).to.include({ email, status: 'invited' })
  })
})

const why = { ground: 'holder_request', reason: null } as const
const forgotten = (kind: PersonKind, id: number, parts: PersonPart[], subjects = [`${kind}/${id}`]) =>
  event('PersonForgotten', { kind, id, ...why, parts, subjects })

const address = { zip: '1', street: 'Rua', number: '9', complement: null, district: null, city: null, state: null }
const queued = event('PersonForgettingQueued', { kind: 'customer', id: 3, ...why, due_on: '2031-01-01' })
const AT = (revision: number) => `2026-03-10T12:${String(revision).padStart(2, '0')}:00.000-03:00`

describe('projections of erased persons', () => {
  const ana = customerCreated({
    id: 3,
    external_id: 'a',
    name: 'Ana',
    document: '1',
    phone: '2',
    email: 'e',
    notes: 'n',
    address,
  })

  it('keep the identity while the erasure is queued, and nothing afterwards [PRIV-1, PRIV-4]', async () => {
    const waiting = await given(companyRegistered(), ana, forgotten('customer', 3, ['contact']), queued)
    expect(await waiting.show('customer/3')).to.deep.equal({
      ...ana.data,
      state_registration: null,
      ie_indicator: null,
      metadata: null,
      phone: null,
      email: null,
      notes: null,
      forgotten_at: null,
      forgetting_due_on: '2031-01-01',
      created_at: AT(1),
      updated_at: AT(3),
      deleted_at: null,
    })
    const queue = erasureRef('customer/3')
    expect((await waiting.rows(queue)).get(queue)).to.include({ due_on: '2031-01-01', ground: 'holder_request' })
    const all: PersonPart[] = ['identity', 'contact']
    const gone = await given(
      companyRegistered(),
      ana,
      forgotten('customer', 3, ['contact']),
      queued,
      forgotten('customer', 3, all),
    )
    const rows = await gone.rows(queue, customerById(3), customerByName('Ana'), customerByExternalId('a'))
    expect(rows.get(queue)).to.include({ due_on: null })
    expect(rows.get(customerByName('Ana'))).to.equal(null)
    expect(rows.get(customerByExternalId('a'))).to.include({
      id: 3,
      name_key: null,
      search: 'a',
      document: null,
      changed_at: minute(4),
    })
    const nothing = { name: null, document: null, address: null, phone: null, email: null, notes: null }
    expect(rows.get(customerById(3))?.doc).to.deep.include({ ...nothing, forgotten_at: AT(4), forgetting_due_on: null })
  })

  it('write the same rows from events with deleted keys', async () => {
    const nothing = { name: null, document: null, address: null, phone: null, email: null, notes: null }
    const all = forgotten('customer', 3, ['identity', 'contact'])
    const [live, replayed] = [
      await given(companyRegistered(), ana, all),
      await given(companyRegistered(), customerCreated({ ...ana.data, ...nothing } as never), all),
    ]
    const ref = customerById(3)
    expect((await live.rows(ref)).get(ref)).to.deep.equal((await replayed.rows(ref)).get(ref))
  })

  it('keep only the id of a user, and release the address', async () => {
    const scenario = await given(
      companyRegistered(),
      userCreated({ id: 4 }),
      event('UserDeactivated', { id: 4 }),
      forgotten('user', 4, ['identity', 'contact']),
    )
    const rows = await scenario.rows(userById(4), userByEmail('ana@loja.example'))
    expect(rows.get(userByEmail('ana@loja.example'))).to.equal(null)
    expect(rows.get(userById(4))?.doc).to.include({
      name: null,
      email: null,
      status: 'inactive',
      forgotten_at: minute(3),
    })
  })

  it('erase buyer and payers of the customer’s orders, including later reports of the provider', async () => {
    const card = { last_four: '6351', installments: 1 }
    const all = forgotten('customer', 3, ['identity', 'contact'], ['customer/3', 'order/1'])
    const scenario = await given(
      companyRegistered(),
      ana,
      storeCreated(),
      orderPlaced({ customer: { id: 3, external_id: 'a', name: 'Ana', email: 'e', document: '1', phone: '2' } }),
      paymentStarted(1, { payment_method_id: 'visa' }),
      all,
      paymentRecorded(1, { ...approved, card }),
    )
    const row = (await scenario.rows(orderById(1))).get(orderById(1))
    expect(row).to.deep.include({ customer_id: 3, forgotten: ['identity', 'contact'] })
    expect(row?.doc.customer).to.deep.equal({
      id: 3,
      external_id: 'a',
      name: null,
      email: null,
      document: null,
      phone: null,
    })
    expect(row?.doc.payment?.card).to.include({ last_four: null, installments: 1 })
    expect(row?.doc.forgotten_at).to.equal(AT(5))
  })

  it('start the legal retention at the authorization, else the recording, of a fiscal document', async () => {
    const recorded = (fields: object) => event('FiscalDocumentRecorded', { id: 8, ...fiscalDocument, ...fields })
    for (const [document, documented_at] of [
      [recorded({}), fiscalDocument.authorized_at],
      [recorded({ status: 'contingency', authorized_at: null }), minute(2)],
    ] as const) {
      const scenario = await given(companyRegistered(), saleCompleted({ id: 8 }), document)
      expect((await scenario.rows(saleById(8))).get(saleById(8))).to.include({ documented_at })
    }
  })
})
