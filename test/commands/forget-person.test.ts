import { type ForgetPerson, forgetDue, forgetPerson, type Holding } from '#commands/forget-person.ts'
import { renewInvitation } from '#commands/invitation-commands.ts'
import { startPayment } from '#commands/order-attempts.ts'
import { createCustomer, replaceCustomer, updateCustomer } from '#commands/person-commands.ts'
import { createPayable, createReceivable } from '#commands/receivables-payables.ts'
import { registerSale } from '#commands/register-sale.ts'
import { changePassword, reactivateUser, updateUser } from '#commands/user-commands.ts'
import { refuseField } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import {
  attemptId,
  companyRegistered,
  customerCreated,
  orderPlaced,
  paymentTypeCreated,
  storeCreated,
  supplierCreated,
  userCreated,
  userInvited,
} from '../support/facts.ts'
import { type Decided, given } from '../support/given.ts'

const why = { ground: 'holder_request', reason: 'P-1' } as const
const ask = (kind: ForgetPerson['kind'], id: number, more: Partial<ForgetPerson> = {}): ForgetPerson => ({
  kind,
  id,
  ...why,
  retention_years: 5,
  ...more,
})
/** Customer 3 with orders. */
const shop = (...orders: number[]) => [
  customerCreated({ id: 3 }),
  storeCreated(),
  ...orders.map((id) => orderPlaced({ id, external_id: null })),
]

const nothing: Holding = { needs: [], count: 0, finished_orders: [] }

/** Decides with the given result of the lookup. */
async function decide(facts: readonly NewEvent[], input: ForgetPerson, found: Partial<Holding> = {}, actor = 'user/9') {
  const scenario = await given(companyRegistered(), ...facts)
  return { scenario, decided: await scenario.when(forgetPerson, input, 'pdv', actor, null, [{ ...nothing, ...found }]) }
}

const forgotten = (kind: ForgetPerson['kind'], id: number, ...more: string[]) =>
  event('PersonForgotten', { kind, id, ...why, parts: ['identity', 'contact'], subjects: [`${kind}/${id}`, ...more] })

const sale = { kind: 'sale', id: 5, since: '2026-01-10T02:00:00.000Z' } as const
const receivable = { kind: 'receivable', id: 7, since: null } as const

describe('forget person', () => {
  it('erases a customer and the customer’s orders [PRIV-1]', async () => {
    const { decided } = await decide(shop(1, 4), ask('customer', 3), { finished_orders: [1, 4] })
    decided.accepts('updated', forgotten('customer', 3, 'order/1', 'order/4'))
  })

  it('erases a supplier, the buyer of an order, and a deleted person [PRIV-1]', async () => {
    const suppliers = await decide([supplierCreated({ id: 3 })], ask('supplier', 3))
    suppliers.decided.accepts('updated', forgotten('supplier', 3))
    const orders = await decide([storeCreated(), orderPlaced({ id: 3 })], ask('order', 3))
    orders.decided.accepts('updated', forgotten('order', 3))
    const deleted = [customerCreated({ id: 3 }), event('CustomerDeleted', { id: 3 })]
    ;(await decide(deleted, ask('customer', 3))).decided.accepts('deleted', forgotten('customer', 3))
  })

  it('changes nothing when repeated, and does not find a missing person [PRIV-1]', async () => {
    const { decided } = await decide([customerCreated({ id: 3 }), forgotten('customer', 3)], ask('customer', 3))
    decided.accepts('unchanged')
    ;(await decide([customerCreated({ id: 3 })], ask('supplier', 3))).decided.refuses('not_found')
  })

  it('deactivates a user first; refuses the last owner and the acting user [PRIV-3]', async () => {
    const owners = [
      userCreated({ id: 1, role: 'owner' }),
      userCreated({ id: 2, email: 'b@loja.example', role: 'owner' }),
    ]
    const { decided } = await decide(owners, ask('user', 2))
    decided.accepts('updated', event('UserDeactivated', { id: 2 }), forgotten('user', 2))
    const invited = await decide([userInvited({ id: 4 })], ask('user', 4))
    invited.decided.accepts('updated', event('UserInvitationCancelled', { id: 4 }), forgotten('user', 4))
    ;(await decide(owners, ask('user', 2), {}, 'user/2')).decided.refuses(
      'validation_failed',
      refuseField('id', 'não pode ser o próprio usuário').details,
    )
    ;(await decide(owners.slice(0, 1), ask('user', 1))).decided.refuses('last_owner')
  })

  it('is refused while records need the person, with the day and the records [PRIV-4]', async () => {
    const facts = [customerCreated({ id: 3 })]
    const { decided } = await decide(facts, ask('customer', 3), { needs: [sale, receivable], count: 12 })
    decided.refuses('retention_required', {
      // The document is dated 9 January in São Paulo; five years later that is still the last day.
      until: '2031-01-10',
      needed_by: [
        { kind: 'sale', id: 5, until: '2031-01-10' },
        { kind: 'receivable', id: 7, until: null },
      ],
      count: 12,
    })
    const open = await decide(facts, ask('customer', 3), { needs: [receivable], count: 1 })
    open.decided.refuses('retention_required', {
      until: null,
      needed_by: [{ kind: 'receivable', id: 7, until: null }],
      count: 1,
    })
    const longer = await decide(facts, ask('customer', 3, { retention_years: 10 }), { needs: [sale], count: 1 })
    longer.decided.refuses('retention_required', {
      until: '2036-01-10',
      needed_by: [{ kind: 'sale', id: 5, until: '2036-01-10' }],
      count: 1,
    })
    const backup = ask('customer', 3, { ground: 'restored_backup', reason: null })
    const restored = await decide(facts, backup, { needs: [sale], count: 1 })
    const again = { ...forgotten('customer', 3).data, ground: 'restored_backup', reason: null } as const
    restored.decided.accepts('updated', event('PersonForgotten', again as never))
  })

  const queue = ask('customer', 3, { queue: true })
  const contact = event('PersonForgotten', {
    kind: 'customer',
    id: 3,
    ...why,
    parts: ['contact'],
    subjects: ['customer/3', 'order/1'],
  })
  const queued = (due_on: string, more: { keeps_contact?: true } = {}) =>
    event('PersonForgettingQueued', { kind: 'customer', id: 3, ...why, due_on, ...more })

  it('can be queued: erases contacts at once, and the identity on the due day [PRIV-4]', async () => {
    const needed = { needs: [sale], count: 1, finished_orders: [1] }
    const { decided, scenario } = await decide(shop(1), queue, needed)
    decided.accepts('queued', contact, queued('2031-01-10'))
    ;(await scenario.when(forgetPerson, queue, 'pdv', 'user/9', null, [{ ...nothing, ...needed }])).accepts('queued')
    ;(await decide(shop(1), queue)).decided.accepts('updated', forgotten('customer', 3))
  })

  it('keeps contacts while accounts or orders are open, due from today on without a date [PRIV-100]', async () => {
    const keeps_contact = true
    for (const open of [receivable, { ...receivable, kind: 'order' } as const]) {
      const { decided } = await decide(shop(1), queue, { needs: [open], count: 1, finished_orders: [1] })
      decided.accepts('queued', queued('2026-03-10', { keeps_contact }))
      const both = await decide(shop(1), queue, { needs: [sale, open], count: 2 })
      both.decided.accepts('queued', queued('2031-01-10', { keeps_contact }))
    }
  })

  it('erases kept contacts once nothing is open, before the due day [PRIV-100]', async () => {
    const when = async (due_on: string, found: Partial<Holding>) => {
      const before = queued(due_on, { keeps_contact: true })
      const scenario = await given(companyRegistered(), ...shop(1), before)
      const due = { kind: 'customer', id: 3, retention_years: 5 } as const
      return scenario.when(forgetDue, due, 'system', 'user/9', null, [{ ...nothing, ...found }])
    }
    const needed = { needs: [sale], count: 1, finished_orders: [1] }
    ;(await when('2031-01-10', { needs: [sale, receivable], count: 2 })).accepts('unchanged')
    ;(await when('2031-01-10', needed)).accepts('updated', contact, queued('2031-01-10'))
    ;(await when('2026-03-10', needed)).accepts('updated', contact, queued('2031-01-10'))
    ;(await when('2026-03-10', { needs: [receivable], count: 1 })).accepts('unchanged')
    const postponed = await when('2026-03-10', { needs: [sale, receivable], count: 2 })
    postponed.accepts('updated', queued('2031-01-10', { keeps_contact: true }))
    ;(await when('2031-01-10', {})).accepts('updated', forgotten('customer', 3))
    const freed = await given(companyRegistered(), ...shop(1), queued('2031-01-10', { keeps_contact: true }), contact)
    const due = { kind: 'customer', id: 3, retention_years: 5 } as const
    ;(await freed.when(forgetDue, due, 'system', 'user/9', null, [{ ...nothing, ...needed }])).accepts('unchanged')
  })

  it('checks again on the due day what needs the person [PRIV-5]', async () => {
    const due = { kind: 'customer', id: 3, retention_years: 5 } as const
    const when = async (due_on: string, found: Partial<Holding>) => {
      const scenario = await given(companyRegistered(), ...shop(1, 2), contact, queued(due_on))
      return scenario.when(forgetDue, due, 'system', 'user/9', null, [{ ...nothing, ...found }])
    }
    ;(await when('2026-03-10', { finished_orders: [2] })).accepts('updated', forgotten('customer', 3, 'order/2'))
    ;(await when('2026-03-11', {})).accepts('unchanged')
    ;(await when('2026-03-10', { needs: [sale], count: 1 })).accepts('updated', queued('2031-01-10'))
    ;(await when('2026-03-10', { needs: [receivable], count: 1 })).accepts('unchanged')
    const done = await given(companyRegistered(), ...shop(1), contact, queued('2026-03-10'), forgotten('customer', 3))
    ;(await done.when(forgetDue, due, 'system', 'user/9', null, [nothing])).accepts('unchanged')
  })
})

describe('erased person', () => {
  const facts = [
    customerCreated({ id: 3, external_id: 'a', name: 'Ana' }),
    supplierCreated({ id: 4, external_id: 'b' }),
    userCreated({ id: 1, role: 'owner' }),
    userCreated({ id: 2, email: 'b@loja.example' }),
    userInvited({ id: 5, email: 'c@loja.example' }),
    event('UserDeactivated', { id: 2 }),
    event('UserInvitationCancelled', { id: 5 }),
    paymentTypeCreated({ id: 1 }),
    storeCreated(),
    orderPlaced({ id: 6 }),
  ]
  const all = [
    forgotten('customer', 3),
    forgotten('supplier', 4),
    forgotten('user', 2),
    forgotten('user', 5),
    forgotten('order', 6),
  ]
  const customer = { subject: 'customer/3' }

  it('cannot be changed, or referenced by new records [PRIV-6]', async () => {
    const scenario = await given(companyRegistered(), ...facts, ...all)
    const items = [{ description: 'Café', quantity: '1', unit_price: '1.00' }]
    const payments = [{ payment_type_id: 1, amount: '1.00' }]
    const account = { description: 'Conta', amount: '1.00', due_date: '2026-04-01' }
    const refused = async (decided: Promise<Decided>, subject: string) =>
      (await decided).refuses('person_forgotten', { subject })
    await refused(scenario.when(updateCustomer, { id: 3, changes: { phone: '11999990000' } }), customer.subject)
    await refused(scenario.when(replaceCustomer, { external_id: 'a', name: 'Ana' }), customer.subject)
    await refused(scenario.when(registerSale, { customer_id: 3, items, payments } as never), customer.subject)
    await refused(scenario.when(createReceivable, { ...account, customer_external_id: 'a' }), customer.subject)
    await refused(scenario.when(createPayable, { ...account, supplier_id: 4 }), 'supplier/4')
    await refused(scenario.when(updateUser, { id: 2, name: 'Bia' }), 'user/2')
    await refused(scenario.when(reactivateUser, { id: 2 }), 'user/2')
    await refused(scenario.when(changePassword, { id: 2, password_hash: 'x' }), 'user/2')
    await refused(scenario.when(renewInvitation, { id: 5, token_hash: Buffer.alloc(1) }), 'user/5')
    const attempt = { id: 6, attempt_id: attemptId(1), idempotency_key: null, payment_method_id: 'pix' }
    await refused(scenario.when(startPayment, attempt), 'order/6')
    // The name is available again.
    ;(await scenario.when(createCustomer, { name: 'Ana' })).accepts(
      'created',
      customerCreated({ id: 1001, name: 'Ana' }),
    )
  })

  it('cannot be changed while queued, but can be referenced [PRIV-6]', async () => {
    const queued = event('PersonForgettingQueued', { kind: 'customer', id: 3, ...why, due_on: '2031-01-01' })
    const scenario = await given(companyRegistered(), ...facts, queued)
    ;(await scenario.when(updateCustomer, { id: 3, changes: { notes: 'x' } })).refuses('person_forgotten', customer)
    const receivable = { description: 'Conta', amount: '1.00', due_date: '2026-04-01', customer_id: 3 }
    const decided = await scenario.when(createReceivable, receivable)
    decided.accepts(
      'created',
      event('ReceivableCreated', {
        id: 1001,
        external_id: null,
        origin: 'api',
        description: 'Conta',
        customer_id: 3,
        customer_external_id: 'a',
        customer_name: 'Ana',
        amount: '1.00',
        due_date: '2026-04-01',
        sale_id: null,
      }),
    )
  })
})
