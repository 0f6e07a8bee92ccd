import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { createPaymentType } from '#commands/store-commands.ts'
import { PUBLIC_URL } from '../support/api.ts'
import { panelUser } from '../support/panel.ts'
import { createTestUser, openTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('GET /api/sync/config', () => {
  const api = useApi()

  it('returns company, payment types and user, for any plan', async () => {
    const company = await api.company({ plan: 'basic' })
    const till = await openTill(api.url, company, await createTestUser(company, 'owner'))
    const card = await company.run(createPaymentType, {
      name: 'Cartão "crédito"',
      kind: 'card',
      fee_percentage: '3.50',
      due_days: 30,
    })
    const account = await company.run(createPaymentType, {
      name: 'Crediário',
      kind: 'credit_account',
      fee_percentage: '0.00',
      due_days: 15,
    })
    const reply = await till.get('/sync/config')
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.body).to.deep.equal({
      success: true,
      data: {
        company: {
          id: company.id,
          name: `Loja ${company.id}`,
          cnpj: '11.222.333/0001-81',
          ...{ logo_url: '', pix_key: '', pix_city: '', voucher_days: 90 },
        },
        payment_types: [
          { id: card.id, name: 'Cartão "crédito"', kind: 'card', is_cash: false, fee_percentage: 3.5, due_days: 30 },
          {
            id: account.id,
            name: 'Crediário',
            kind: 'credit_account',
            is_cash: false,
            fee_percentage: 0,
            due_days: 15,
          },
        ],
        user: { id: till.user.id, name: till.user.name, role: 'owner' },
        drawer: null,
      },
    })
    expect(reply.text).to.include('"fee_percentage":3.50,')
  })

  it('has the open drawer of its user only, also one of the panel [TILL-1347]', async () => {
    const company = await api.company()
    const own = await panelUser(api, company)
    const till = await openTill(api.url, company, { ...own, name: 'Dono', companyId: company.id })
    const other = await openTill(api.url, company)
    const drawer = async (of = till) => (await of.get('/sync/config')).body.data.drawer
    expect(await drawer()).to.equal(null)
    expect((await own.submit('/painel/caixas/sessoes/abrir', { amount: '50,00' })).status).to.equal(303)
    const open = await drawer()
    const [session] = (await company.get('/cash-sessions')).body.data
    expect(open.session_id).to.equal(session.session_id)
    expect(await drawer(other)).to.equal(null)
    const closed = { offline_id: 'm2', session_id: open.session_id, kind: 'closed', amount: null }
    await till.post('/sync/cash', { movements: [{ ...closed, at: new Date().toISOString() }] })
    expect(await drawer()).to.equal(null)
  })

  it('returns each company its own data', async () => {
    const [one, other] = [await api.company(), await api.company()]
    const cash = await one.paymentType('cash')
    await other.paymentType('pix')
    const { data } = (await (await openTill(api.url, one)).get('/sync/config')).body
    expect(data.company.id).to.equal(one.id)
    expect(data.payment_types.map(({ id }: { id: number }) => id)).to.deep.equal([cash])
    expect(data.payment_types[0].is_cash).to.equal(true)
  })

  it('shows a change at once, and no payment types as an empty list', async () => {
    const company = await api.company()
    const till = await openTill(api.url, company)
    expect((await till.get('/sync/config')).body.data.payment_types).to.deep.equal([])
    await company.run(updateCompany, { name: 'Nova & Cia', logo_url: 'https://loja.example/logo.png' })
    expect((await till.get('/sync/config')).body.data.company).to.include({
      name: 'Nova & Cia',
      logo_url: 'https://loja.example/logo.png',
    })
    const logo_url = `/pictures/${company.id}/logo/${'0b'.repeat(32)}.webp`
    await company.run(updateCompany, { logo_url })
    expect((await till.get('/sync/config')).body.data.company.logo_url).to.equal(`${PUBLIC_URL}${logo_url}`)
  })
})
