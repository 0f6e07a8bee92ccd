import { expect } from 'chai'
import { companyRegistered, customerCreated, supplierCreated } from '../../support/facts.ts'
import { from, given } from '../../support/given.ts'
import { SIDES, wrong } from './sides.ts'

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
