import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
import { countAlarms } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { listStores } from '#queries/store-queries.ts'
import { alarmedOrder, paymentTold, placedOrder } from '../support/orders.ts'
import { hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const HOME = '/painel/loja'

describe('panel: online store', () => {
  const {
    api,
    company,
    user: owner,
  } = usePanelUser('owner', undefined, {
    settings: { STORE_COMMISSION_PERCENT: '6.5' },
  })
  let alias: string
  let storeId: number

  beforeEach(async () => {
    alias = `loja-${company.id}`
    storeId = (await company.run(createStore, { alias, commission_percentage: '7.5', sandbox: true })).id
  })

  const shown = async (path: string, user = owner) => {
    const { status, html } = await user.get(path)
    expect(status, html).to.equal(200)
    return textIn(html)
  }

  describe('stores', () => {
    const PATH = `${HOME}/lojas`
    const fields = { alias: 'nova', access_token: 'TOKEN-123', notification_secret: '' }

    it('are created with secrets that are never shown [STORE-2, PANEL-26]', async () => {
      const sent = await owner.submit(`${PATH}/nova`, { ...fields, alias: `${alias}-b`, sandbox: 'on' })
      expect(sent.to).to.equal(`${HOME}?feito=criado`)
      const { html } = await owner.get(HOME)
      expect(textIn(html)).to.include(`${alias}-b Ligada 6,50% Teste`)
      const path = [...html.matchAll(/href="([^"]*lojas\/\d+)"/g)].at(-1)?.[1] ?? ''
      const page = await owner.get(path)
      expect(textIn(page.html))
        .to.include('Token de acesso Guardado')
        .and.to.include('Segredo das notificações Falta')
        .and.to.include(`/webhook/paymentprovider/${alias}-b/`)
      for (const one of [page, await owner.get(`${path}/editar`)]) expect(one.html).not.to.include('TOKEN-123')
      const { rows } = await api.core.pool.query(
        `select count(*)::int as n from ledger.events where envelope::text like '%TOKEN-123%'`,
      )
      expect(rows[0].n).to.equal(0)
    })

    it('are refused with errors at the fields, without showing a secret [PANEL-12]', async () => {
      for (const [wrong, label] of [
        [{ alias: 'Loja Bonita' }, 'Apelido'],
        [{ alias }, 'Apelido'],
        [{ access_token: 'com espaço' }, 'Token'],
      ] as const) {
        const { status, html } = await owner.submit(`${PATH}/nova`, { ...fields, ...wrong })
        expect(status, label).to.be.oneOf([409, 422])
        expect(problemsIn(html).join(), label).to.include(label)
        expect(html).not.to.include('TOKEN-123')
      }
    })

    it('register the sales of their orders unless the owner says otherwise [STORE-9]', async () => {
      const path = `${PATH}/${storeId}`
      expect((await owner.get(`${PATH}/nova`)).html).to.match(/name="registers_sales"[^>]* checked/)
      expect(await shown(path)).to.include('Pedido pago Vira venda e baixa o estoque')
      await owner.submit(`${path}/editar`, {})
      expect(await shown(path)).to.include('Pedido pago Não vira venda')
      expect((await owner.get(`${path}/editar`)).html).not.to.match(/name="registers_sales"[^>]* checked/)
      await owner.submit(`${path}/editar`, { registers_sales: 'on' })
      expect(await shown(path)).to.include('Pedido pago Vira venda e baixa o estoque')
      await owner.submit(`${PATH}/nova`, { ...fields, alias: `${alias}-d` })
      const [, created] = await listStores(fullReader(company.core.pool, company.id))
      expect(created).to.include({ registers_sales: false })
    })

    it('keep secrets that are not entered again, and are disabled and enabled [PANEL-26]', async () => {
      const path = `${PATH}/${storeId}`
      await owner.submit(`${path}/editar`, { access_token: 'TOKEN-9', notification_secret: '' })
      await owner.submit(`${path}/editar`, { access_token: '', notification_secret: '' })
      expect(await shown(path)).to.include('Token de acesso Guardado')
      expect((await owner.submit(path, {}, `${path}/desligar`)).to).to.equal(`${path}?feito=loja-desligada`)
      expect(await shown(path)).to.include('Desligada')
      await owner.submit(path, {}, `${path}/ligar`)
      expect(await shown(path)).to.include('Situação Ligada')
    })

    it('have the commission set by the operator, regardless of the form [PANEL-26]', async () => {
      const percentages = async () =>
        (await listStores(fullReader(company.core.pool, company.id))).map(
          ({ commission_percentage }) => commission_percentage,
        )
      const page = await owner.get(`${PATH}/nova`)
      expect(textIn(page.html)).to.include('Comissão do serviço: 6,50% de cada pagamento.')
      const before = (await company.get('/me')).headers.get('x-ledger-revision')
      for (const path of [`${PATH}/nova`, `${PATH}/${storeId}/editar`])
        expect((await owner.get(path)).html).not.to.include('name="commission_percentage"')
      for (const commission_percentage of ['0', '0,00', '0.00', '99', '-1', 'x', '']) {
        const sent = await owner.submit(`${PATH}/${storeId}/editar`, {
          commission_percentage,
          registers_sales: 'on',
          access_token: '',
        })
        expect(sent.to).to.equal(`${PATH}/${storeId}?feito=alterado`)
      }
      expect(await percentages()).to.deep.equal(['7.50'])
      expect((await company.get('/me')).headers.get('x-ledger-revision')).to.equal(before)
      await owner.submit(`${PATH}/nova`, { ...fields, alias: `${alias}-c`, commission_percentage: '0' })
      expect(await percentages()).to.deep.equal(['7.50', '6.50'])
      expect(await shown(`${PATH}/${storeId}`)).to.include('Comissão 7,50%')
    })

    it('are limited to owners; orders are open to everyone', async () => {
      const clerk = await panelUser(api, company, 'clerk')
      const id = await placedOrder(company, alias)
      for (const path of ['/nova', `/${storeId}`, `/${storeId}/editar`])
        expect((await clerk.get(PATH + path)).status, path).to.equal(403)
      const { _csrf = '', _key = '' } = hiddenFields(
        (await clerk.get('/painel/clientes/novo')).html,
        '/painel/clientes',
      )
      expect((await clerk.post(`${PATH}/${storeId}/desligar`, { _csrf, _key })).status).to.equal(403)
      expect(await shown(HOME, clerk)).to.include('Maria da Silva')
      expect((await clerk.get(HOME)).html).not.to.include('/lojas/')
      expect(await shown(`${HOME}/pedidos/${id}`, clerk)).to.include('Cesta de café da manhã')
    })

    it('of another company do not exist', async () => {
      const other = await panelUser(api, await api.company())
      for (const path of ['', '/editar']) expect((await other.get(`${PATH}/${storeId}${path}`)).status).to.equal(404)
    })
  })

  describe('orders', () => {
    it('are listed newest first, in pages, with filters and totals [PANEL-26]', async () => {
      const ids: number[] = []
      for (let n = 0; n < 52; n++) ids.push(await placedOrder(company, alias))
      await paymentTold(company, ids[0] as number, 'approved')
      const numbers = async (query: string) =>
        [...(await owner.get(HOME + query)).html.matchAll(/pedidos\/(\d+)"/g)].map(([, id]) => Number(id))
      expect(await numbers('')).to.deep.equal(ids.slice(2).reverse())
      const next = /href="([^"]+)" rel="next"/.exec((await owner.get(HOME)).html)?.[1]?.replaceAll('&amp;', '&') ?? ''
      expect(await numbers(next.slice(HOME.length))).to.deep.equal(ids.slice(0, 2).reverse())
      expect(await numbers('?status=paid')).to.deep.equal([ids[0]])
      expect(await shown(HOME)).to.match(/52 pedidos, R\$ [\d.]+,\d\d /)
      expect(await shown(`${HOME}?status=paid`)).to.include('1 pedido, R$ ')
      expect(await numbers('?store_alias=outra')).to.deep.equal([])
      expect((await owner.get(`${HOME}?status=nada&cursor=quebrado`)).status).to.equal(200)
    })

    it('show payments, commission and alarms [PANEL-26]', async () => {
      const id = await alarmedOrder(company, alias)
      expect(await shown(HOME)).to.include('Pago Alerta')
      expect(await shown(`${HOME}/pedidos/${id}`))
        .to.include('segundo pagamento aprovado')
        .and.to.include('Comissão do serviço R$ 3,47')
        .and.to.match(/você recebe R\$ \d/)
        .and.to.match(/Pagamento aprovado\. · no provedor: pagamento-\d+/)
        .and.to.include('Pedido pago')
      expect(await countAlarms(fullReader(api.core.pool, company.id))).to.equal(1)
    })

    it('show a checkout link to copy while they can be paid', async () => {
      const id = await placedOrder(company, alias)
      const { payment_url } = (await company.get(`/orders/${id}`)).body.data
      const { html } = await owner.get(`${HOME}/pedidos/${id}`)
      expect(html).to.include(`href="${payment_url}"`).and.to.include(`data-copy="${payment_url}"`)
      await paymentTold(company, id, 'approved')
      expect(await shown(`${HOME}/pedidos/${id}`)).not.to.include('Link de pagamento')
    })

    it('are cancelled with a reason while unpaid, and refused once paid [PANEL-26, ORDER-9]', async () => {
      const id = await placedOrder(company, alias)
      const path = `${HOME}/pedidos/${id}`
      expect((await owner.get(path)).html).to.include(`${path}/cancelar`)
      const { to } = await owner.submit(`${path}/cancelar`, { reason: 'Sem estoque' })
      expect(to).to.equal(`${path}?feito=pedido-cancelado`)
      expect(await shown(path))
        .to.include('Cancelado')
        .and.to.include('Motivo do cancelamento Sem estoque')
      expect((await owner.get(path)).html).not.to.include(`${path}/cancelar`)
      expect(problemsIn((await owner.get(`${path}/cancelar`)).html)).to.deep.equal(['O pedido já está cancelado.'])
      const other = `${HOME}/pedidos/${await placedOrder(company, alias)}`
      const form = hiddenFields((await owner.get(`${other}/cancelar`)).html, `${other}/cancelar`)
      await paymentTold(company, Number(other.split('/').at(-1)), 'approved')
      const late = await owner.post(`${other}/cancelar`, { ...form, reason: 'Engano' })
      expect(late.status).to.equal(409)
      const PAID = 'O pedido já foi pago: em vez de cancelar, estorne o pagamento.'
      for (const html of [late.html, (await owner.get(`${other}/cancelar`)).html]) {
        expect(problemsIn(html)).to.deep.equal([PAID])
        expect(html).to.include(`href="${other}/devolver"`)
      }
      await paymentTold(company, id, 'approved')
      expect(await shown(path)).to.include('O pedido foi pago depois de cancelado')
    })

    it('show notifications of the provider and their outcome [PANEL-26]', async () => {
      const id = await placedOrder(company, alias)
      const response = await fetch(`${api.url}/webhook/paymentprovider/${alias}/${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id: 1, type: 'payment', note: '<script>' }),
      })
      expect(response.status).to.equal(400)
      const { html } = await owner.get(`${HOME}/pedidos/${id}`)
      expect(textIn(html)).to.include('Recusada HTTP 400').and.to.include('"note": "<script>"')
      expect(html).not.to.include('<script>"')
    })

    it('are shown at an earlier revision, without the notification log', async () => {
      const id = await placedOrder(company, alias)
      const revision = (await company.get('/me')).headers.get('x-ledger-revision')
      await paymentTold(company, id, 'approved')
      const then = await shown(`${HOME}/pedidos/${id}?em=${revision}`)
      expect(then).to.include('Aguardando pagamento').and.not.to.include('Notificações recebidas')
      expect(await shown(`${HOME}?em=${revision}`)).to.include('Aguardando pagamento')
    })

    it('of another company do not exist', async () => {
      const id = await placedOrder(company, alias)
      const other = await panelUser(api, await api.company())
      expect((await other.get(`${HOME}/pedidos/${id}`)).status).to.equal(404)
      expect((await owner.get(`${HOME}/pedidos/abc`)).status).to.equal(404)
    })
  })
})
