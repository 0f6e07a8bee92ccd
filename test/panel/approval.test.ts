import { expect } from 'chai'
import { countersOf } from '#access/login-limits.ts'
import { adjustRole } from '#commands/user-commands.ts'
import type { Permission } from '#domain/rights.ts'
import { BEFORE } from '#panel/forms/panel-form.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'

const PIN = '480263'

describe('panel: an approval on the spot', () => {
  const { api, company } = useCompany()
  let clerk: PanelUser
  let otherClerk: PanelUser
  let manager: PanelUser
  let counter: Counter

  before(async () => {
    clerk = await panelUser(api, company, 'clerk')
    otherClerk = await panelUser(api, company, 'clerk')
    manager = await panelUser(api, company, 'manager')
    counter = await openCounter(company)
    const permissions = ['sell', 'edit_catalog'] as const
    await company.run(adjustRole, {
      role: 'clerk',
      permissions: [...permissions],
      return_limit: '0.00',
      discount_limit: '0.00',
    })
    expect((await setPin(manager, PIN)).status).to.equal(303)
    expect((await setPin(otherClerk, PIN)).status).to.equal(303)
  })

  const setPin = (user: PanelUser, pin: string, current_password = user.password) =>
    user.submit('/painel/conta/pin', { current_password, pin, repeated: pin })
  const sell = async (): Promise<number> => (await counter.sell({ seller: { user_id: clerk.id } })).id
  const cancel = (id: number, fields: Record<string, string>) =>
    clerk.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano', ...fields })
  const by = ({ email }: PanelUser, approver_secret: string) => ({ approver_email: email, approver_secret })
  const statusOf = async (id: number) => (await company.get(`/sales/${id}`)).body.data.status

  async function lastEvent() {
    const { rows } = await api.core.pool.query(
      'select envelope::text from ledger.events where stream = $1 order by revision desc limit 1',
      [`company-${company.id}`],
    )
    return JSON.parse(rows[0].envelope)
  }

  it('is offered to a user who may not do it, and without one nothing happens [ROLE-120]', async () => {
    const id = await sell()
    expect(textIn((await clerk.get(`/painel/vendas/${id}/cancelar`)).html)).to.include('Autorização')
    expect(textIn((await manager.get(`/painel/vendas/${id}/cancelar`)).html)).not.to.include('Autorização')
    const { status, html } = await cancel(id, {})
    expect([status, problemsIn(html)]).to.deep.equal([
      403,
      ['Seu perfil de acesso não permite cancelar as próprias vendas. Peça autorização a um responsável.'],
    ])
    expect(await statusOf(id)).to.equal('completed')
  })

  for (const way of ['PIN', 'password'] as const)
    it(`is given by ${way}, and the event names the approver beside the actor [ROLE-120]`, async () => {
      const id = await sell()
      const { status } = await cancel(id, by(manager, way === 'PIN' ? PIN : manager.password))
      expect([status, await statusOf(id)]).to.deep.equal([303, 'cancelled'])
      const { actor, data } = await lastEvent()
      expect([actor, data.approved_by]).to.deep.equal([`user/${clerk.id}`, manager.id])
      expect(textIn((await manager.get(`/painel/vendas/${id}`)).html)).to.include(
        `autorizada pelo usuário ${manager.id}`,
      )
    })

  it('is refused if the approver may not do it either, or is the user [ROLE-120]', async () => {
    const id = await sell()
    expect((await cancel(id, by(otherClerk, PIN))).status).to.equal(403)
    expect((await cancel(id, by(clerk, clerk.password))).status).to.equal(403)
    expect(await statusOf(id)).to.equal('completed')
  })

  it('is refused to persons of other companies [ROLE-120]', async () => {
    const id = await sell()
    const stranger = await panelUser(api, await api.company())
    const { status, html } = await cancel(id, by(stranger, stranger.password))
    expect([status, html.includes('e-mail, PIN ou senha incorretos')]).to.deep.equal([422, true])
    expect(await statusOf(id)).to.equal('completed')
  })

  it('leaves a sale without the approver in its event if the user may cancel it [ROLE-120]', async () => {
    const id = await sell()
    await manager.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano' })
    expect((await lastEvent()).data).not.to.have.property('approved_by')
  })

  it('allows a price that the user may not change; other fields need none [ROLE-123]', async () => {
    const path = `/painel/catalogo/${counter.product}/editar`
    const edit = async (fields: Record<string, string>) => {
      const form = hiddenFields((await clerk.get(path)).html, path)
      return clerk.post(path, { ...form, ...JSON.parse(form[BEFORE] ?? ''), ...fields })
    }
    const price = async () => (await company.get(`/catalog/items/${counter.product}`)).body.data.price
    expect((await edit({ price: '9,00' })).status).to.equal(403)
    expect(await price()).to.equal('10.00')
    expect((await edit({ unit: 'CX' })).status).to.equal(303)
    expect((await edit({ price: '9,00', ...by(manager, PIN) })).status).to.equal(303)
    expect([await price(), (await lastEvent()).data.approved_by]).to.deep.equal(['9.00', manager.id])
  })

  it('allows a new item under a barcode of another one, which is a change of price [ROLE-782]', async () => {
    const item = (await company.post('/catalog/items', { name: 'Vinho', price: '90.00', barcode: '7891000100103' }))
      .body
    expect((await clerk.submit(`/painel/catalogo/${item.data.id}/excluir`, {})).status).to.equal(303)
    const create = (fields: Record<string, string>) => {
      const item = { type: 'product', name: 'Vinho', price: '9,00', barcode: '7891000100103', unit: 'UN' }
      return clerk.submit('/painel/catalogo/novo', { ...item, ...fields }, '/painel/catalogo')
    }
    expect(textIn((await clerk.get('/painel/catalogo/novo')).html)).to.include('Autorização')
    const refused = await create({})
    expect([refused.status, textIn(refused.html).includes('Autorização')]).to.deep.equal([403, true])
    expect((await create(by(manager, PIN))).status).to.equal(303)
    expect((await lastEvent()).data).to.include({ barcode: '7891000100103', approved_by: manager.id })
  })

  it('allows an item to come back under a barcode of another one [ROLE-782]', async () => {
    const made = async (name: string) =>
      (await company.post('/catalog/items', { name, price: '9.00', barcode: '7891000100110' })).body.data.id
    const remove = (id: number) => company.call('DELETE', `/catalog/items/${id}`)
    const id = await made('Suco')
    await remove(id)
    await remove(await made('Refresco'))
    const list = '/painel/catalogo?state=inactive'
    const again = (fields: Record<string, string>) => clerk.submit(list, fields, `/painel/catalogo/${id}/reativar`)
    const refused = await again({})
    expect([refused.status, textIn(refused.html).includes('Autorização')]).to.deep.equal([403, true])
    expect((await again(by(manager, PIN))).status).to.equal(303)
    expect((await lastEvent()).data).to.include({ id, approved_by: manager.id })
  })

  describe('of a return', () => {
    const allow = (...permissions: Permission[]) =>
      company.run(adjustRole, { role: 'clerk', permissions, return_limit: '15.00', discount_limit: '0.00' })
    const sellTwo = async (): Promise<number> => {
      const items = [{ catalog_item_id: counter.product, quantity: '2', unit_price: '10.00' }]
      const payments = [{ payment_type_id: counter.cash, amount: '20.00' }]
      return (await counter.sell({ seller: { user_id: clerk.id }, items, payments })).id
    }
    const form = (id: number) => `/painel/vendas/${id}/devolver`
    const giveBack = (id: number, quantity: string, approval: Record<string, string> = {}) =>
      clerk.submit(form(id), { q0: quantity, reason: 'Defeito', payment_type_id: `${counter.cash}`, ...approval })
    const summed = async (id: number, quantity: string) =>
      textIn((await clerk.submit(form(id), { q0: quantity, calcular: 's' })).html)
    const totals = async (id: number) =>
      (await company.get(`/sales/${id}/returns`)).body.data.map(({ total }: { total: string }) => total)

    before(() => allow('sell', 'edit_catalog', 'return_goods'))
    after(() => allow('sell', 'edit_catalog'))

    it('is not needed up to the limit of the role [ROLE-103]', async () => {
      const id = await sellTwo()
      expect(await summed(id, '1')).not.to.include('Autorização')
      expect((await giveBack(id, '1')).status).to.equal(303)
      const { type, data } = await lastEvent()
      expect([type, data.approved_by, await totals(id)]).to.deep.equal(['SaleReturned', undefined, ['10.00']])
    })

    it('is needed above the limit, and is recorded in the event [ROLE-103] [ROLE-120]', async () => {
      const id = await sellTwo()
      expect(await summed(id, '2')).to.include('Autorização')
      expect((await giveBack(id, '2')).status).to.equal(403)
      expect((await giveBack(id, '2', by(otherClerk, PIN))).status).to.equal(403)
      expect(await totals(id)).to.deep.equal([])
      expect((await giveBack(id, '2', by(manager, PIN))).status).to.equal(303)
      const { type, actor, data } = await lastEvent()
      expect([type, actor, data.approved_by]).to.deep.equal(['SaleReturned', `user/${clerk.id}`, manager.id])
      expect(await totals(id)).to.deep.equal(['20.00'])
    })

    it('is needed for any amount by a user who may take nothing back [ROLE-120]', async () => {
      await allow('sell', 'edit_catalog')
      const id = await sellTwo()
      expect((await giveBack(id, '1')).status).to.equal(403)
      expect((await giveBack(id, '1', by(manager, PIN))).status).to.equal(303)
      expect(await totals(id)).to.deep.equal(['10.00'])
    })
  })

  describe('that fails', () => {
    const asked = async (user: PanelUser, fields: Record<string, string>) => {
      const { id } = await counter.sell({ seller: { user_id: user.id } })
      return (await user.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano', ...fields })).html
    }
    const WRONG = 'e-mail, PIN ou senha incorretos'
    const LIMITED = /muitas tentativas: aguarde \d+ segundos/

    it('five times a minute is refused to who asks, in all sessions; secrets are not shown again [ROLE-121]', async () => {
      const asking = await panelUser(api, company, 'clerk')
      const approver = await panelUser(api, company, 'manager')
      await setPin(approver, PIN)
      for (let n = 0; n < 5; n++)
        expect(await asked(asking, by(approver, '999998')))
          .to.include(WRONG)
          .and.not.include('999998')
      expect(await asked(asking, by(approver, PIN))).to.match(LIMITED)
      await asking.logIn()
      expect(await asked(asking, by(approver, PIN))).to.match(LIMITED)
      expect(await asked(otherClerk, by(approver, '999998'))).to.include(WRONG)
    })

    it('leaves the prompts of the approver alone, and compares no password of other companies [ROLE-720]', async () => {
      const asking = await panelUser(api, company, 'clerk')
      const approver = await panelUser(api, company, 'manager')
      const stranger = await panelUser(api, await api.company())
      for (const secret of [approver.password, PIN]) expect(await asked(asking, by(stranger, secret))).to.include(WRONG)
      for (let n = 0; n < 3; n++) expect(await asked(asking, by(approver, 'senha errada'))).to.include(WRONG)
      expect(await asked(asking, by(approver, approver.password))).to.match(LIMITED)
      expect((await setPin(approver, '480263')).status).to.equal(303)
      const countersOfAccount = ({ email }: PanelUser) =>
        countersOf({ email, address: '127.0.0.1', proof: 'inside' }).slice(0, 3)
      const { rows } = await api.core.pool.query('select hour_count from ops.login_failures where key = any($1)', [
        [approver, stranger].flatMap(countersOfAccount).map(({ key }) => key),
      ])
      expect(rows.filter(({ hour_count }) => hour_count > 0)).to.deep.equal([])
    })
  })

  it('needs a PIN of six digits, set with the password and in no event [ROLE-122]', async () => {
    for (const pin of ['12345', '1234567', '111111', '123456', '987654', 'abcdef'])
      expect((await setPin(clerk, pin)).status, pin).to.equal(422)
    expect((await setPin(clerk, PIN, 'uma senha errada')).status).to.equal(422)
    expect((await setPin(clerk, '730518')).status).to.equal(303)
    const event = await lastEvent()
    expect([event.type, event.data]).to.deep.equal(['UserPinChanged', { id: clerk.id }])
    const hash = 'select pin_hash from ops.user_pins where company_id = $1 and user_id = $2'
    const { rows } = await api.core.pool.query(hash, [company.id, clerk.id])
    expect(rows[0].pin_hash).to.match(/^\$argon2id\$/)
  })
})
