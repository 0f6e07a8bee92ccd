import { correctClock } from '#commands/companies.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const AHEAD = '2036-03-10T15:00:00.000Z'

describe('correct the clock of a ledger', () => {
  it('records until when the last event before was ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.accepts('updated', event('CompanyClockCorrected', { id: COMPANY_ID, ahead_until: AHEAD }))
  })

  it('records nothing where the ledger is not ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system')
    const fields = { company: ['o livro não está adiantado em relação ao relógio'] }
    decided.refuses('validation_failed', { fields, unknown_fields: [] })
  })

  it('does not know a company that was never registered', async () => {
    const scenario = await given()
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.refuses('not_found')
  })
})
