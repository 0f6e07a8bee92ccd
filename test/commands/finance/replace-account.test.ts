import { expect } from 'chai'
import { companyRegistered } from '../../support/facts.ts'
import { FIRST_NEW_ID, from, given } from '../../support/given.ts'
import { body, SIDES, wrong } from './sides.ts'

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
