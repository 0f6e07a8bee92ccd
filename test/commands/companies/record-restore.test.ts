import { recordRestore } from '#commands/company-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const SAID = { lost_after: '2026-01-02T03:04:05.678Z', reason: 'disco perdido', copy: false, ids: { sale: 10_000 } }

describe('record a restore', () => {
  it('records since when events may be lost, the reason, and the id floors [OPS-84]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(recordRestore, SAID, 'system')
    decided.accepts('updated', event('InstallationRestored', { id: COMPANY_ID, ...SAID }))
  })

  it('refuses a loss in the future [OPS-84]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(recordRestore, { ...SAID, lost_after: '2999-01-01T00:00:00.000Z' }, 'system')
    decided.refuses('validation_failed', { fields: { lost_after: ['não pode estar no futuro'] }, unknown_fields: [] })
  })

  it('does not find an unregistered company', async () => {
    const scenario = await given()
    const decided = await scenario.when(recordRestore, SAID, 'system')
    decided.refuses('not_found')
  })
})
