import { expect } from 'chai'
import type { PersonKind, PersonPart } from '#domain/person-values.ts'
import { event } from '#events/catalogue.ts'
import { orderById } from '#projections/orders.ts'
import { customerByExternalId, customerById, customerByName, erasureRef } from '#projections/people.ts'
import { saleById } from '#projections/sales.ts'
import { userByEmail, userById } from '#projections/users.ts'
import {
  approved,
  companyRegistered,
  customerCreated,
  fiscalDocument,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  saleCompleted,
  storeCreated,
  userCreated,
} from '../support/facts.ts'
import { given, minute } from '../support/given.ts'

const why = { ground: 'holder_request', reason: null } as const
const forgotten = (kind: PersonKind, id: number, parts: PersonPart[], subjects = [`${kind}/${id}`]) =>
  event('PersonForgotten', { kind, id, ...why, parts, subjects })

const address = { zip: '1', street: 'Rua', number: '9', complement: null, district: null, city: null, state: null }
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
const queued = event('PersonForgettingQueued', { kind: 'customer', id: 3, ...why, due_on: '2031-01-01' })
const AT = (revision: number) => `2026-03-10T12:${String(revision).padStart(2, '0')}:00.000-03:00`

describe('projections of erased persons', () => {
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
      orderPlaced({ customer: { id: 3, external_id: 'a', name: 'Ana', email: 'e', document: '1' } }),
      paymentStarted(1, { payment_method_id: 'visa' }),
      all,
      paymentRecorded(1, { ...approved, card }),
    )
    const row = (await scenario.rows(orderById(1))).get(orderById(1))
    expect(row).to.deep.include({ customer_id: 3, forgotten: ['identity', 'contact'] })
    expect(row?.doc.customer).to.deep.equal({ id: 3, external_id: 'a', name: null, email: null, document: null })
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
