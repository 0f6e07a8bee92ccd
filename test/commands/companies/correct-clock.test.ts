import { correctClock } from '#commands/company-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const AHEAD = '2036-03-10T15:00:00.000Z'

describe('correct the clock of a ledger', () => {
  it('records how far the previous event was ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.accepts('updated', event('CompanyClockCorrected', { id: COMPANY_ID, ahead_until: AHEAD }))
  })

  it('records nothing if the ledger is not ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system')
    const fields = { company: ['o livro não está adiantado em relação ao relógio'] }
    decided.refuses('validation_failed', { fields, unknown_fields: [] })
  })

  it('does not find an unregistered company', async () => {
    const scenario = await given()
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.refuses('not_found')
  })
})
