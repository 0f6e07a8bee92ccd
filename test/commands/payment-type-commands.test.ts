import { expect } from 'chai'
import {
  CreatePaymentTypeInput,
  createPaymentType,
  UpdatePaymentTypeInput,
  updatePaymentType,
} from '#commands/store-commands.ts'
import { event } from '#events/catalogue.ts'
import { PAYMENT_KINDS } from '#events/company-events.ts'
import { companyRegistered, paymentTypeCreated } from '../support/facts.ts'
import { FIRST_NEW_ID, given } from '../support/given.ts'

const input = (body: object) => CreatePaymentTypeInput.parse(body)

describe('create payment type', () => {
  it('defaults to no fee and 30 due days', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createPaymentType, input({ name: 'Dinheiro', kind: 'cash' }), 'system')
    decided.accepts('created', paymentTypeCreated({ id: FIRST_NEW_ID }))
  })

  it('stores the fee with two decimals', async () => {
    const scenario = await given(companyRegistered())
    const body = { name: 'Cartão', kind: 'card', fee_percentage: '2.5', due_days: 0 } as const
    const decided = await scenario.when(createPaymentType, input(body), 'system')
    decided.accepts('created', paymentTypeCreated({ id: FIRST_NEW_ID, ...body, fee_percentage: '2.50' }))
  })

  it('refuses the name of another type, ignoring case and blanks [REC-1]', async () => {
    const scenario = await given(companyRegistered(), paymentTypeCreated({ id: 4, name: 'Cartão' }))
    const decided = await scenario.when(createPaymentType, input({ name: ' CARTÃO ', kind: 'card' }), 'system')
    decided.refuses('duplicate_resource', { field: 'name', conflicting_id: 4 })
  })

  const internal = ['credit_account', 'exchange_credit', 'promotion', 'cashback']
  for (const kind of PAYMENT_KINDS.filter((each) => each !== 'online')) {
    const refused = internal.includes(kind)
    it(`records the kind ${kind}, which the API ${refused ? 'refuses, with a reason' : 'accepts'} [TYPE-2]`, async () => {
      const scenario = await given(companyRegistered())
      await scenario.when(createPaymentType, input({ name: 'Forma', kind }), 'system')
      const shown = (await scenario.show(`payment_type/${FIRST_NEW_ID}`)) as { reason?: string }
      expect(shown).to.include({ kind, is_cash: kind === 'cash', accepts_api: !refused })
      expect(typeof shown.reason).to.equal(refused ? 'string' : 'undefined')
    })
  }

  for (const [field, value] of [
    ['kind', 'cheque'],
    ['kind', 'online'],
    ['fee_percentage', '100.01'],
    ['fee_percentage', 2.5],
    ['due_days', -1],
    ['due_days', 1.5],
    ['name', ''],
  ] as const) {
    it(`refuses ${field} ${JSON.stringify(value)}`, () => {
      const parsed = CreatePaymentTypeInput.safeParse({ name: 'Pix', kind: 'pix', [field]: value })
      expect(parsed.error?.issues.map((issue) => issue.path)).to.deep.equal([[field]])
    })
  }
})

const existing = () => given(companyRegistered(), paymentTypeCreated({ kind: 'card', fee_percentage: '2.50' }))

describe('update payment type', () => {
  const input = (body: object) => UpdatePaymentTypeInput.parse({ id: 1, ...body })

  it('records changed fields only', async () => {
    const scenario = await existing()
    const decided = await scenario.when(updatePaymentType, input({ name: 'Crédito', fee_percentage: '2.5' }), 'system')
    decided.accepts('updated', event('PaymentTypeUpdated', { id: 1, changes: { name: 'Crédito' } }))
  })

  it('lets the API accept a type with an accepted kind, and removes the reason', async () => {
    const scenario = await given(companyRegistered(), paymentTypeCreated({ kind: 'promotion' }))
    await scenario.when(updatePaymentType, input({ kind: 'pix' }), 'system')
    expect(await scenario.show('payment_type/1'))
      .to.include({ accepts_api: true })
      .and.not.to.have.property('reason')
  })

  it('changes all but the kind of the online store’s type [TYPE-2]', async () => {
    const scenario = await given(companyRegistered(), paymentTypeCreated({ name: 'Loja online', kind: 'online' }))
    const renamed = await scenario.when(updatePaymentType, input({ name: 'Site' }), 'panel')
    renamed.accepts('updated', event('PaymentTypeUpdated', { id: 1, changes: { name: 'Site' } }))
    const changed = await scenario.when(updatePaymentType, input({ kind: 'pix' }), 'panel')
    changed.refuses('validation_failed', { fields: { kind: ['é da loja online e não muda'] }, unknown_fields: [] })
  })

  it('records nothing when nothing changes', async () => {
    const scenario = await existing()
    const decided = await scenario.when(updatePaymentType, input({ fee_percentage: '2.50', due_days: 30 }), 'system')
    decided.accepts('unchanged')
  })

  it('refuses the name of another type, but not its own [REC-1]', async () => {
    const scenario = await given(
      companyRegistered(),
      paymentTypeCreated({ id: 1, name: 'Pix' }),
      paymentTypeCreated({ id: 2, name: 'PIX' }),
      paymentTypeCreated({ id: 3, name: 'Cartão' }),
    )
    const taken = await scenario.when(updatePaymentType, input({ name: 'cartão' }), 'system')
    taken.refuses('duplicate_resource', { field: 'name', conflicting_id: 3 })
    const shared = await scenario.when(updatePaymentType, { ...input({ name: 'Pix' }), id: 2 }, 'system')
    shared.accepts('updated', event('PaymentTypeUpdated', { id: 2, changes: { name: 'Pix' } }))
  })

  it('does not find a type of another company', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(updatePaymentType, input({ name: 'Crédito' }), 'system')
    decided.refuses('not_found')
  })
})
