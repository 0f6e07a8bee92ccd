import { expect } from 'chai'
import { Settlement } from '#commands/account-commands.ts'
import {
  CreatePayableInput,
  CreateReceivableInput,
  createPayable,
  ReceivableReplacement,
} from '#commands/receivables-payables.ts'
import { PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { describeIssues } from '#domain/refusals.ts'
import { companyRegistered, customerCreated, settlement, supplierCreated } from '../support/facts.ts'
import { FIRST_NEW_ID, from, given, minute, recorded } from '../support/given.ts'
import { body, SIDES, wrong } from './account-sides.ts'

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

  it('repeats a bill each month, on the last day where a month has no 31st [ACCT-1275]', async () => {
    const decide = async (fields: object) => {
      const scenario = await given(companyRegistered())
      return scenario.when(createPayable, CreatePayableInput.parse({ ...undated, due_date: '2026-01-31', ...fields }))
    }
    const { events } = recorded(await decide({ repeat_until: '2026-04-30' }))
    expect(events.map(({ data }) => data)).to.deep.equal(
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'].map((due_date, n) => ({
        ...(events[0]?.data as object),
        ...{ id: FIRST_NEW_ID + n, due_date, external_id: null },
        installment: { group: FIRST_NEW_ID, number: n + 1, count: 4, repeats: true },
      })),
    )
    expect(recorded(await decide({ repeat_until: '2035-12-31' })).events).to.have.length(120)
    for (const fields of [
      { repeat_until: '2026-01-30' },
      { repeat_until: '2036-01-31' },
      { repeat_until: '2026-04-30', installments },
    ]) {
      const { decision } = await decide(fields)
      expect(decision).to.have.nested.property('details.fields.repeat_until')
    }
  })

  it('is unknown to a PUT, which replaces one account [ACCT-107]', () => {
    const { error } = ReceivableReplacement.safeParse({ ...body, installments })
    expect(describeIssues(error!).unknown_fields).to.deep.equal(['installments'])
  })
})

for (const side of SIDES) {
  const byId = `${side.party}_id`
  const byExternalId = `${side.party}_external_id`
  const known = side.created({ id: 5, external_id: 'a', ...side.partyFields(true) })
  const updated = (changes: Record<string, unknown>, discount?: string) =>
    side.happened('Updated', { id: 5, changes, ...(discount && side.forgave(discount)) })

  describe(`update ${side.subject}`, () => {
    it('changes the given fields only [REC-5]', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), known)
      const changes = { description: 'Outro', amount: '2.00', due_date: '2026-05-01', external_id: null }
      const decided = await scenario.when(...side.update(5, changes))
      decided.accepts('updated', updated(changes, '98.00'))
      expect(await scenario.show(`${side.subject}/5`)).to.include({ ...changes, ...side.partyFields(true) })
    })

    it('records nothing for equal values [REC-3]', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), known)
      for (const changes of [{}, { amount: '100.00', external_id: 'a' }, { [byId]: 3 }, { [byExternalId]: 'p3' }]) {
        const decided = await scenario.when(...side.update(5, changes))
        decided.accepts('unchanged')
      }
    })

    it('removes the counterparty if either id is null [REC-5]', async () => {
      for (const field of [byId, byExternalId]) {
        const scenario = await given(companyRegistered(), side.partyCreated(), known)
        const decided = await scenario.when(...side.update(5, { [field]: null }))
        decided.accepts('updated', updated(side.partyFields(false)))
      }
    })

    it('accepts another counterparty by either id, with its current name', async () => {
      const bia = { id: 4, external_id: 'p4', name: 'Bia' }
      const other = side.party === 'customer' ? customerCreated(bia) : supplierCreated(bia)
      for (const named of [{ [byId]: 4 }, { [byExternalId]: 'p4' }]) {
        const scenario = await given(companyRegistered(), side.partyCreated(), known, other)
        const decided = await scenario.when(...side.update(5, named))
        decided.accepts('updated', updated({ [byId]: 4, [byExternalId]: 'p4', [`${side.party}_name`]: 'Bia' }))
      }
    })

    it('keeps the recorded party name until the party is given again; the event contains its id [LEDGER-40]', async () => {
      const changes = { name: 'Ana Lima' }
      const renamed = { id: 3, external_id: 'p3', name: 'Ana Lima' }
      const party = side.party === 'customer' ? customerCreated(renamed) : supplierCreated(renamed)
      const scenario = await given(companyRegistered(), party, known)
      const other = await scenario.when(...side.update(5, { amount: '2.00' }))
      other.accepts('updated', updated({ amount: '2.00' }, '98.00'))
      const named = await scenario.when(...side.update(5, { [byId]: 3 }))
      named.accepts('updated', updated({ [byId]: 3, [`${side.party}_name`]: changes.name }))
    })

    it('refuses an unknown counterparty, and the external id of another account', async () => {
      const scenario = await given(companyRegistered(), known, side.created({ id: 6, external_id: 'b' }))
      const message = side.party === 'customer' ? 'cliente não encontrado' : 'fornecedor não encontrado'
      const unknown = await scenario.when(...side.update(5, { [byExternalId]: 'p9' }))
      unknown.refuses('validation_failed', wrong(byExternalId, message))
      const taken = await scenario.when(...side.update(5, { external_id: 'b' }))
      taken.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 6 })
    })

    it('refuses changes of a settled account [ACCT-8]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5))
      for (const changes of [{}, { amount: '1.00' }, { [byId]: 99 }]) {
        const decided = await scenario.when(...side.update(5, changes))
        decided.refuses('already_settled')
      }
    })

    it('refuses the API for an account made by a sale, settled or not; the panel may change it [ACCT-3]', async () => {
      const ofSale = from('pdv', side.created({ id: 5, origin: 'sale', sale_id: 2 }))
      const scenario = await given(companyRegistered(), ofSale)
      const decided = await scenario.when(...side.update(5, { amount: '1.00' }))
      decided.refuses('managed_by_pdv')
      const panel = await scenario.when(...side.update(5, { amount: '1.00' }), 'pdv')
      panel.accepts('updated', updated({ amount: '1.00' }, '99.00'))
      const settled = await given(companyRegistered(), ofSale, side.paid(5))
      const again = await settled.when(...side.update(5, {}))
      again.refuses('managed_by_pdv')
    })

    it('does not find missing or deleted accounts', async () => {
      const scenario = await given(companyRegistered(), known, side.happened('Deleted', { id: 5 }))
      for (const id of [5, 9]) {
        const decided = await scenario.when(...side.update(id, {}))
        decided.refuses('not_found')
      }
    })
  })

  describe(`delete ${side.subject}`, () => {
    const deleted = side.happened('Deleted', { id: 5, ...side.forgave('100.00') })

    it('removes the account from lists, once', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...side.remove(5))
      decided.accepts('deleted', deleted)
      expect(await scenario.show(`${side.subject}/5`)).to.equal(null)
      for (const id of [5, 9]) {
        const again = await scenario.when(...side.remove(id))
        again.refuses('not_found')
      }
    })

    it('refuses a settled account [ACCT-8]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5))
      const decided = await scenario.when(...side.remove(5))
      decided.refuses('already_settled')
    })

    it('refuses the API for an account made by a sale; the panel may delete it [ACCT-3]', async () => {
      const scenario = await given(
        companyRegistered(),
        from('pdv', side.created({ id: 5, origin: 'sale', sale_id: 2 })),
      )
      const decided = await scenario.when(...side.remove(5))
      decided.refuses('managed_by_pdv')
      const panel = await scenario.when(...side.remove(5), 'pdv')
      panel.accepts('deleted', deleted)
    })
  })
}

for (const side of SIDES) {
  const byId = `${side.party}_id`
  const input = (fields: object) => side.replace({ external_id: 'a', ...body, ...fields })
  const known = side.created({ id: 5, external_id: 'a', ...side.partyFields(true) })
  const deleted = side.happened('Deleted', { id: 5 })

  describe(`replace ${side.subject}`, () => {
    it('creates a missing account [REC-2]', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated())
      const decided = await scenario.when(...input({ [byId]: 3 }))
      decided.accepts('created', side.created({ id: FIRST_NEW_ID, external_id: 'a', ...side.partyFields(true) }))
    })

    it('replaces the record; an absent counterparty is removed [REC-2]', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), known)
      const decided = await scenario.when(...input({ amount: '120.00' }))
      const changes = { amount: '120.00', ...side.partyFields(false) }
      decided.accepts('updated', side.happened('Updated', { id: 5, changes }))
    })

    it('records nothing when repeated', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), known)
      const decided = await scenario.when(...input({ [`${side.party}_external_id`]: 'p3' }))
      decided.accepts('unchanged')
      expect(decided.decision).to.include({ subject: `${side.subject}/5` })
    })

    it('revives a deleted account under its id [REC-4]', async () => {
      const scenario = await given(companyRegistered(), side.partyCreated(), known, deleted)
      const decided = await scenario.when(...input({ amount: '7.00' }))
      const fields = { external_id: 'a', ...body, amount: '7.00', ...side.partyFields(false) }
      decided.accepts('updated', side.happened('Revived', { id: 5, ...fields }))
      expect(await scenario.show(`${side.subject}/5`)).to.include({ amount: '7.00', status: 'pending' })
    })

    it('records nothing when repeated for a settled account, even after a change of the counterparty [REC-3]', async () => {
      const settled = side.paid(5)
      const scenario = await given(companyRegistered(), side.partyCreated(), known, settled, side.partyDeleted())
      for (const party of [{ [byId]: 3 }, { [`${side.party}_external_id`]: 'p3' }]) {
        const decided = await scenario.when(...input(party))
        decided.accepts('unchanged')
      }
      const of = side.created({ id: 6, external_id: 'b' })
      const nobodys = await given(companyRegistered(), of, side.paid(6))
      const decided = await nobodys.when(...side.replace({ external_id: 'b', ...body }))
      decided.accepts('unchanged')
    })

    it('refuses other content for a settled account before other checks [ACCT-8]', async () => {
      const settled = side.paid(5)
      const scenario = await given(companyRegistered(), side.partyCreated(), known, settled)
      for (const fields of [{}, { amount: '1.00' }, { [byId]: 99 }]) {
        const decided = await scenario.when(...input(fields))
        decided.refuses('already_settled')
      }
    })

    it('the API refuses changes of an account made by a sale; the panel may [ACCT-3]', async () => {
      const ofSale = from('pdv', side.created({ id: 5, external_id: 'a', origin: 'sale', sale_id: 2 }))
      for (const past of [[ofSale], [ofSale, deleted]]) {
        const scenario = await given(companyRegistered(), ...past)
        const decided = await scenario.when(...input({}))
        decided.refuses('managed_by_pdv')
      }
      const scenario = await given(companyRegistered(), ofSale)
      const decided = await scenario.when(...input({ amount: '1.00' }), 'pdv')
      decided.accepts(
        'updated',
        side.happened('Updated', { id: 5, changes: { amount: '1.00' }, ...side.forgave('99.00') }),
      )
    })

    it('refuses an unknown counterparty', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...input({ [byId]: 99 }))
      const message = side.party === 'customer' ? 'cliente não encontrado' : 'fornecedor não encontrado'
      decided.refuses('validation_failed', wrong(byId, message))
    })
  })
}

const pix = { payment_method: 'pix' }

for (const side of SIDES) {
  const known = side.created({ id: 5 })
  /** The payment of all that is open, and the settlement. */
  const settled = ({ amount = '100.00', ...fields }: { amount?: string; paid_at?: string; settled_on?: string }) => {
    const settling = { ...settlement, ...fields }
    const { paid_at, settled_on: paid_on } = settling
    return [side.paid(5, { amount, paid_at, paid_on }), side.happened('Settled', { id: 5, ...settling })] as const
  }

  describe(`settle ${side.subject}`, () => {
    it('settles in full, by default at the time of the request [ACCT-7]', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...side.settle(5, pix))
      decided.accepts('updated', ...settled({ paid_at: minute(2) }))
      const shown = await scenario.show(`${side.subject}/5`)
      expect(shown).to.include({
        status: 'settled',
        paid_at: '2026-03-10T12:02:00.000-03:00',
        settled_on: '2026-03-10',
        payment_method: 'pix',
        is_overdue: false,
        updated_at: '2026-03-10T12:02:00.000-03:00',
      })
    })

    for (const [timezone, paid_at, settled_on] of [
      ['America/Sao_Paulo', '2026-03-10T02:59:59.999Z', '2026-03-09'],
      ['America/Sao_Paulo', '2026-03-10T03:00:00.000Z', '2026-03-10'],
      ['Asia/Tokyo', '2026-03-10T15:00:00.000Z', '2026-03-11'],
      ['Pacific/Kiritimati', '2025-12-31T10:00:00.000Z', '2026-01-01'],
    ] as const)
      it(`books ${paid_at} in ${timezone} on ${settled_on} [ACCT-7]`, async () => {
        const scenario = await given(companyRegistered({ timezone }), known)
        const decided = await scenario.when(...side.settle(5, { ...pix, paid_at }))
        decided.accepts('updated', ...settled({ paid_at, settled_on }))
      })

    it('refuses a paid_at that is more than a day in the future [VAL-9]', async () => {
      const scenario = await given(companyRegistered(), known)
      const late = await scenario.when(...side.settle(5, { ...pix, paid_at: '2026-03-11T15:02:00.001Z' }))
      late.refuses(
        'validation_failed',
        wrong('paid_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'),
      )
      const decided = await scenario.when(...side.settle(5, { ...pix, paid_at: '2026-03-11T15:02:00.000Z' }))
      decided.accepts('updated', ...settled({ paid_at: '2026-03-11T15:02:00.000Z', settled_on: '2026-03-11' }))
    })

    it('checks the amount: a different one is refused and changes nothing [ACCT-5]', async () => {
      const scenario = await given(companyRegistered(), known)
      const message = 'deve ser o valor em aberto, 100.00: uma parte se paga com um pagamento'
      for (const amount of ['99.99', '100.01', '0.00']) {
        const decided = await scenario.when(...side.settle(5, { ...pix, amount }))
        decided.refuses('validation_failed', wrong('amount', message))
      }
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '100.00', paid_at: null }))
      decided.accepts('updated', ...settled({ paid_at: minute(2) }))
    })

    it('pays what is open of a partly paid account, and checks the amount against that [ACCT-5]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '60.00' }))
      const whole = await scenario.when(...side.settle(5, { ...pix, amount: '100.00' }))
      const message = 'deve ser o valor em aberto, 40.00: uma parte se paga com um pagamento'
      whole.refuses('validation_failed', wrong('amount', message))
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '40.00' }))
      decided.accepts('updated', ...settled({ amount: '40.00', paid_at: minute(3) }))
    })

    it('refuses a second settlement before checking the amount [ACCT-8]', async () => {
      const scenario = await given(companyRegistered(), known, ...settled({}))
      for (const input of [pix, { ...pix, amount: '1.00' }, { ...pix, paid_at: settlement.paid_at }]) {
        const decided = await scenario.when(...side.settle(5, input))
        decided.refuses('already_settled')
      }
    })

    it('refuses the API for an account made by a sale; the panel settles it [ACCT-3]', async () => {
      const scenario = await given(
        companyRegistered(),
        from('pdv', side.created({ id: 5, origin: 'sale', sale_id: 2 })),
      )
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '1.00' }))
      decided.refuses('managed_by_pdv')
      const panel = await scenario.when(...side.settle(5, pix), 'pdv')
      panel.accepts('updated', ...settled({ paid_at: minute(2) }))
      const again = await scenario.when(...side.settle(5, pix))
      again.refuses('managed_by_pdv')
    })

    it('does not find missing or deleted accounts', async () => {
      const scenario = await given(companyRegistered(), known, side.happened('Deleted', { id: 5 }))
      for (const id of [5, 9]) {
        const decided = await scenario.when(...side.settle(id, pix))
        decided.refuses('not_found')
      }
    })
  })
}

describe('settlement input', () => {
  const accepts = (input: object) => Settlement.safeParse(input).success

  for (const payment_method of [...PAYMENT_METHODS, 'PIX', 'card', 'Cartão da loja', 'ç'.repeat(60)])
    it(`accepts the payment method ${payment_method}`, () => {
      expect(accepts({ payment_method })).to.equal(true)
    })
  for (const payment_method of [undefined, null, '', '  ', 1, 'x'.repeat(61), 'pix\u0000'])
    it(`refuses the payment method ${JSON.stringify(payment_method)}`, () => {
      expect(accepts({ payment_method })).to.equal(false)
    })

  it('accepts a paid_at with an offset, and an amount with two decimals', () => {
    expect(accepts({ ...pix, paid_at: '2026-03-10T12:00:00-03:00', amount: '1.00' })).to.equal(true)
  })
  for (const more of [{ paid_at: '2026-03-10T12:00:00' }, { paid_at: '2026-03-10' }, { amount: '1' }, { id: 1 }])
    it(`refuses ${JSON.stringify(more)}`, () => expect(accepts({ ...pix, ...more })).to.equal(false))
})
