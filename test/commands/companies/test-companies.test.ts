import { expect } from 'chai'
import { createApiKey } from '#commands/api-key-commands.ts'
import { eraseTestData, makeTestTwin, moveTestClock } from '#commands/company-commands.ts'
import { registerSale } from '#commands/register-sale.ts'
import { addMilliseconds } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import { ownCompany } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import { companyRegistered, customerCreated } from '../../support/facts.ts'
import { COMPANY_ID, given, minute } from '../../support/given.ts'

const DAY_MS = 86_400_000
const tester = () => companyRegistered({ test: true })
const moved = (days: number) => event('TestClockMoved', { id: COMPANY_ID, by_ms: days * DAY_MS })
const erased = event('TestDataErased', { id: COMPANY_ID })
const BACK = 'deve ser depois da hora atual da empresa: o relógio só anda para a frente'
const TOO_FAR = 'o relógio pode ser avançado no máximo 3650 dias: apague os dados de teste para voltar'
const refusal = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('clock of a test company', () => {
  it('moves forward by days, and to an instant, from its current time [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    ;(await scenario.when(moveTestClock, { advance_days: 2 })).accepts('updated', moved(2))
    const [row] = [(await scenario.rows(ownCompany)).get(ownCompany)]
    expect(row?.clock_ahead_ms).to.equal(42 * DAY_MS)
    // The next event is recorded at minute(3), which is 42 days later in company time.
    const decided = await scenario.when(moveTestClock, { now: addMilliseconds(minute(3), 45 * DAY_MS) })
    decided.accepts('updated', moved(3))
  })

  it('neither moves back nor further than ten years ahead [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    const back = await scenario.when(moveTestClock, { now: '2020-01-01T00:00:00.000Z' })
    back.refuses('validation_failed', refusal('now', BACK))
    const far = await scenario.when(moveTestClock, { advance_days: 3_611 })
    far.refuses('validation_failed', refusal('advance_days', TOO_FAR))
  })

  it('determines business days, but not the validity of keys [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    const key = { name: 'a', scopes: ['sales:read'] as const, prefix: 'tb_test_0000', hash: Buffer.alloc(32) }
    // Past in company time only.
    const made = await scenario.when(createApiKey, {
      ...key,
      scopes: [...key.scopes],
      expires_at: addMilliseconds(minute(2), DAY_MS),
    })
    expect(made.decision).to.deep.include({ outcome: 'created' })
    const sold_at = addMilliseconds(minute(3), 42 * DAY_MS)
    const sale = { external_id: 'a', sold_at, items: [], payments: [] } as never
    const decided = await scenario.when(registerSale, sale)
    decided.refuses(
      'validation_failed',
      refusal('sold_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'),
    )
  })

  it('cannot be moved for a real company [KIT-33]', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(moveTestClock, { advance_days: 1 })).refuses('not_test_company')
    ;(await scenario.when(eraseTestData, {})).refuses('not_test_company')
  })
})

describe('erased test company', () => {
  it('has lost its records and its clock offset, and continues its ids [KIT-36]', async () => {
    const scenario = await given(tester(), customerCreated({ id: 1 }), moved(40))
    ;(await scenario.when(eraseTestData, {})).accepts('updated', erased)
    const rows = await scenario.rows(ownCompany, customerById(1))
    expect(rows.get(customerById(1))).to.equal(null)
    expect(rows.get(ownCompany)).to.include({ clock_ahead_ms: 0, erased_revision: 3 })
  })
})

describe('returns of an erased test company', () => {
  it('no longer wait for their sales [KIT-36]', async () => {
    const awaited = event('ReturnAwaited', {
      ...{ id: 1, sale_offline_id: 'v1', offline_id: 'd1', fingerprint: 'f', reason: 'Defeito' },
      ...{ sale_id: null, user_id: 1 },
      returned_at: minute(1),
      items: [{ line: 0, quantity: '1.000', restock: true }],
      refunds: [],
      ...{ on_credit: '0.00', store_credit: '0.00', customer_id: null, cash_session_id: null },
    })
    const scenario = await given(tester(), awaited)
    const waiting = async () => (await scenario.rows(ownCompany)).get(ownCompany)?.awaited_returns
    expect(await waiting()).to.equal(1)
    await scenario.when(eraseTestData, {})
    expect(await waiting()).to.equal(0)
  })
})

describe('test twin of a company', () => {
  it('is created once: a second request returns the same twin [KIT-32]', async () => {
    const scenario = await given(companyRegistered())
    const twin = (twin_id: number) => event('TestTwinMade', { id: COMPANY_ID, twin_id })
    ;(await scenario.when(makeTestTwin, { twin_id: 8 })).accepts('updated', twin(8))
    ;(await scenario.when(makeTestTwin, { twin_id: 9 })).accepts('unchanged')
    expect((await scenario.rows(ownCompany)).get(ownCompany)).to.include({ twin_id: 8 })
  })

  it('is refused for a test company [KIT-32]', async () => {
    const scenario = await given(tester())
    const decided = await scenario.when(makeTestTwin, { twin_id: 8 })
    decided.refuses('validation_failed', refusal('company', 'já é uma empresa de teste'))
  })
})
