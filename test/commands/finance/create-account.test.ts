import { expect } from 'chai'
import { CreateReceivableInput, ReceivableReplacement } from '#commands/receivables-payables.ts'
import { describeIssues } from '#domain/refusals.ts'
import { companyRegistered } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'
import { body, SIDES, wrong } from './sides.ts'

for (const side of SIDES) {
  const byId = `${side.party}_id`
  const byExternalId = `${side.party}_external_id`
  const unknown = side.party === 'customer' ? 'cliente não encontrado' : 'fornecedor não encontrado'

  describe(`create ${side.subject}`, () => {
    it('records an account with required fields only', async () => {
      const scenario = await given(companyRegistered())
      const decided = await scenario.when(...side.create(body))
      decided.accepts('created', side.created({ id: FIRST_NEW_ID }))
    })

    it('records every field, with the current name of the counterparty', async () => {
      for (const named of [{ [byId]: 3 }, { [byExternalId]: 'p3' }, { [byId]: 3, [byExternalId]: null }]) {
        const scenario = await given(companyRegistered(), side.partyCreated())
        const decided = await scenario.when(...side.create({ ...body, ...named, external_id: 'a' }))
        decided.accepts('created', side.created({ id: FIRST_NEW_ID, external_id: 'a', ...side.partyFields(true) }))
      }
    })

    it('records its origin: API or point of sale', async () => {
      const origins = [
        ['api', 'api'],
        ['pdv', 'pdv'],
        ['system', 'pdv'],
      ] as const
      for (const [channel, origin] of origins) {
        const scenario = await given(companyRegistered())
        const decided = await scenario.when(...side.create(body), channel)
        decided.accepts('created', side.created({ id: FIRST_NEW_ID, origin }))
      }
    })

    it('refuses an unknown or deleted counterparty, naming the field', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), side.partyDeleted())
      for (const [field, value] of [
        [byId, 3],
        [byId, 4],
        [byExternalId, 'p3'],
        [byExternalId, 'p4'],
      ] as const) {
        const decided = await scenario.when(...side.create({ ...body, [field]: value }))
        decided.refuses('validation_failed', wrong(field, unknown))
      }
    })

    it('refuses the external id of another account, and marks a deleted one', async () => {
      const first = side.created({ id: 8, external_id: 'a' })
      const scenario = await given(companyRegistered(), first)
      const decided = await scenario.when(...side.create({ ...body, external_id: 'a' }))
      decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 8 })
      const gone = await given(companyRegistered(), first, side.happened('Deleted', { id: 8 }))
      const again = await gone.when(...side.create({ ...body, external_id: 'a' }))
      again.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 8, deleted: true })
    })
  })
}

describe('account input', () => {
  const problems = (input: object) => {
    const { error } = CreateReceivableInput.safeParse({ ...body, ...input })
    return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
  }
  const wrongFields = (input: object) => Object.keys(problems(input).fields)

  it('requires description, amount and due date', () => {
    const { error } = CreateReceivableInput.safeParse({})
    expect(Object.keys(describeIssues(error!).fields)).to.deep.equal(['description', 'amount', 'due_date'])
    for (const field of Object.keys(body)) expect(wrongFields({ [field]: null })).to.deep.equal([field])
    expect(wrongFields({ description: ' ' })).to.deep.equal(['description'])
  })

  it('says why an amount of zero is wrong', () => {
    expect(problems({ amount: '0.00' }).fields).to.deep.equal({ amount: ['deve ser maior que zero'] })
  })

  for (const [field, accepted, refused] of [
    ['amount', ['0.01', '9999999999.99'], ['0', '1', '1.0', '-1.00', '01.00', '1,00', 1, '10000000000.00']],
    [
      'due_date',
      ['2024-02-29', '1900-01-01', '9999-12-31'],
      ['2026-02-29', '2026-13-01', '2026-3-1', '2026-03-10T00:00:00Z', '', 20260310],
    ],
  ] as const) {
    for (const value of accepted)
      it(`accepts the ${field} ${value}`, () => expect(wrongFields({ [field]: value })).to.deep.equal([]))
    for (const value of refused)
      it(`refuses the ${field} ${JSON.stringify(value)}`, () => {
        expect(wrongFields({ [field]: value })).to.deep.equal([field])
      })
  }

  it('accepts only one id of the customer', () => {
    const both = { customer_id: 1, customer_external_id: 'a' }
    const message = 'informe somente um entre customer_id e customer_external_id'
    expect(problems(both)).to.deep.equal(wrong('customer_external_id', message))
    expect(wrongFields({ customer_id: null, customer_external_id: 'a' })).to.deep.equal([])
    for (const customer_id of ['1', 0]) expect(wrongFields({ customer_id })).to.deep.equal(['customer_id'])
  })

  it('refuses fields of the service and of the other side', () => {
    const unknown = { id: 1, status: 'settled', is_overdue: true, origin: 'api', paid_at: null, supplier_id: 1 }
    expect(problems(unknown).unknown_fields).to.have.members(Object.keys(unknown))
  })
})

describe('instalments input', () => {
  const installments = { count: 3, first_due_date: '2026-01-31', interval: 'month' }
  const { due_date: _, ...undated } = body
  const problemsOf = (input: object) => {
    const { error } = CreateReceivableInput.safeParse({ ...undated, ...input })
    return Object.keys(error ? describeIssues(error).fields : {})
  }

  it('gives the due dates itself [ACCT-107]', () => expect(problemsOf({ installments })).to.deep.equal([]))

  for (const [field, value] of [
    ['count', 0],
    ['count', 121],
    ['interval', 'year'],
    ['interval', 0],
    ['first_due_date', '2026-02-30'],
  ] as const)
    it(`refuses the ${field} ${value} [ACCT-107]`, () => {
      expect(problemsOf({ installments: { ...installments, [field]: value } })).to.deep.equal([`installments.${field}`])
    })

  it('is unknown to a PUT, which replaces one account [ACCT-107]', () => {
    const { error } = ReceivableReplacement.safeParse({ ...body, installments })
    expect(describeIssues(error!).unknown_fields).to.deep.equal(['installments'])
  })
})
