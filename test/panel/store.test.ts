import { expect } from 'chai'
import { after, before, beforeEach, describe, it } from 'mocha'
import { v7 as uuidv7 } from 'uuid'
import { refusePayment, startPayment } from '#commands/order-attempts.ts'
import { createStore } from '#commands/store-commands.ts'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { streamName } from '#ledger/command.ts'
import { formatMisconfiguration } from '#payments/pay-order.ts'
import { ProviderMisconfigured } from '#payments/provider-port.ts'
import { createProviderConnector, type ProviderConnector, renewConnections } from '#payments/store-connections.ts'
import type { StoreObject } from '#projections/stores.ts'
import { countRefusedConnections, findStore, listStores } from '#queries/company-queries.ts'
import { countPendingOrders } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { alarmedOrder, paymentTold, placedOrder } from '../support/orders.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { standIn } from '../support/use-api.ts'

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
      expect(sent.to).to.match(/\/loja\/lojas\/\d+\?feito=criado$/)
      const { html } = await owner.get(HOME)
      expect(textIn(html)).to.include(`${alias}-b Ligada 6,50% Teste`)
      const path = [...html.matchAll(/href="([^"]*lojas\/\d+)"/g)].at(-1)?.[1] ?? ''
      const page = await owner.get(path)
      expect(textIn(page.html))
        .to.include('Access Token Guardado')
        .and.to.include('Assinatura secreta Falta')
        .and.to.include(`/webhook/paymentprovider/${alias}-b/`)
      for (const one of [page, await owner.get(`${path}/editar`)]) expect(one.html).not.to.include('TOKEN-123')
      const { rows } = await api.core.pool.query(
        `select count(*)::int as n from ledger.events where envelope::text like '%TOKEN-123%'`,
      )
      expect(rows[0].n).to.equal(0)
    })

    it('are refused with errors at the fields, without showing a secret [PANEL-12]', async () => {
      for (const [wrong, label, refused] of [
        [{ alias: 'Loja Bonita' }, 'Apelido', 422],
        [{ alias }, 'Apelido', 409],
        [{ access_token: 'com espaço' }, 'Token', 422],
      ] as const) {
        const { status, html } = await owner.submit(`${PATH}/nova`, { ...fields, ...wrong })
        expect(status, label).to.equal(refused)
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
      expect(await shown(path)).to.include('Access Token Guardado')
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
  })

  describe('orders', () => {
    it('are listed newest first, in pages, with filters and totals [PANEL-26]', async () => {
      const placed = await Promise.all(Array.from({ length: 52 }, () => placedOrder(company, alias)))
      const ids = placed.sort((a, b) => a - b)
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
      expect(await shown(HOME)).to.include('Pago A preparar Alerta')
      expect(await shown(`${HOME}/pedidos/${id}`))
        .to.include('segundo pagamento aprovado')
        .and.to.include('Comissão do serviço R$ 3,47')
        .and.to.match(/você recebe R\$ \d/)
        .and.to.match(/Pagamento aprovado\. Detalhes técnicos no provedor: pagamento-\d+/)
        .and.to.include('Pedido pago')
      const pending = await countPendingOrders(fullReader(api.core.pool, company.id), '2026-11-21T00:00:00Z')
      expect(pending).to.deep.equal({ alarmed: 1, to_deliver: 1, late: 0 })
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
      expect(textIn(html))
        .to.match(/Recusada Ver .*Respondido: HTTP 400/)
        .and.to.include('"note": "<script>"')
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
  })
})

const CALLBACK = '/painel/loja/conectar'

describe('panel: connection of a store to the provider', () => {
  let sandbox: Sandbox
  let connector: ProviderConnector
  const {
    api,
    company,
    user: owner,
  } = usePanelUser('owner', undefined, {
    connector: standIn('the connector', () => connector),
  })
  let path: string
  let alias: string

  before('start the provider', async () => {
    sandbox = await startSandbox({ port: 0, secret: null })
    connector = createProviderConnector({
      baseUrl: sandbox.url,
      clientId: '123',
      clientSecret: 'app-secret',
      clock: Date.now,
    })
  })
  after('stop it', async () => {
    await connector.close()
    await sandbox.close()
  })

  beforeEach('open a store', async () => {
    Object.assign(sandbox.connections, { token_seconds: 15_552_000, revoked: false })
    alias = `loja-${company.id}`
    path = `/painel/loja/lojas/${await storeCalled(alias, false)}`
  })

  const storeCalled = async (name: string, sandboxStore: boolean): Promise<number> =>
    (await company.run(createStore, { alias: name, commission_percentage: '5', sandbox: sandboxStore })).id

  const store = async (): Promise<StoreObject> => {
    const [first] = await listStores(fullReader(api.core.pool, company.id))
    if (!first) throw new Error('no store')
    return first
  }

  const tokenOf = async () => (await findStore(api.core.pool, api.core.vault, alias))?.accessToken

  /** Address of the provider's page that the button of a page leads to. */
  async function authorizationOf(page = path, user: PanelUser = owner): Promise<string> {
    const { html } = await user.get(page)
    const url = /href="([^"]*\/authorization\?[^"]*)"/.exec(html)?.[1]
    if (!url) throw new Error(`no button in ${textIn(html)}`)
    return url.replaceAll('&amp;', '&')
  }

  /** Path with query to which the provider sends the browser back. */
  async function answerOf(url: string, choice: 'Grant' | 'Deny' = 'Grant'): Promise<string> {
    const html = await (await fetch(url)).text()
    const target = new RegExp(`href="([^"]+)">${choice} access`).exec(html)?.[1] ?? ''
    const { pathname, search } = new URL(target.replaceAll('&amp;', '&'))
    return pathname + search
  }

  const events = async () => {
    const { rows } = await api.core.pool.query<{ envelope: string }>(
      'select envelope::text from ledger.events where stream = $1 order by revision',
      [streamName(company.id)],
    )
    return rows.map(({ envelope }) => envelope).join('\n')
  }

  /** Makes the renewal due, and runs it. */
  /** Renews the connection; returns the lines logged, with the store of each. */
  async function renew(by: ProviderConnector = connector): Promise<[message: string, store: unknown][]> {
    const logged: [string, unknown][] = []
    await api.core.pool.query(`update ops.store_secrets set renew_at = now() where alias = $1`, [alias])
    await renewConnections({
      ...api.core,
      connector: by,
      log: (message, _, fields) => logged.push([message, fields?.store]),
    })
    return logged
  }

  describe('connecting', () => {
    it('stores the token that the provider gives, and shows the account [PAY-81]', async () => {
      const back = await answerOf(await authorizationOf())
      expect(back).to.match(/^\/painel\/loja\/conectar\?/)
      const { status, to } = await owner.get(back)
      expect(status).to.equal(303)
      expect(to).to.equal(`${path}?feito=loja-conectada`)
      expect(textIn((await owner.get(`${path}?feito=loja-conectada`)).html))
        .to.include('Loja conectada ao Mercado Pago.')
        .and.to.include('Conta conectada 1234567890')
        .and.to.include('Conectar de novo')
      expect(await tokenOf()).to.match(/^APP_USR-/)
    })

    it('asks with PKCE and a state of the session [PAY-81]', async () => {
      const query = new URL(await authorizationOf()).searchParams
      expect(query.get('code_challenge_method')).to.equal('S256')
      expect(query.get('code_challenge')).to.match(/^[\w-]{43}$/)
      expect(query.get('client_id')).to.equal('123')
      expect(query.get('redirect_uri')).to.match(/\/painel\/loja\/conectar$/)
      expect(query.get('state')).not.to.equal(new URL(await authorizationOf()).searchParams.get('state'))
    })

    it('records no token, code or state [PAY-81]', async () => {
      const back = await answerOf(await authorizationOf())
      await owner.get(back)
      const token = await tokenOf()
      const text = await events()
      expect(text).to.include('StoreConnected')
      for (const secret of [token ?? '', ...new URLSearchParams(back.split('?')[1]).values()])
        expect(text).not.to.include(secret)
    })

    it('takes a token of test payments for a store of test payments [PAY-81]', async () => {
      alias = `${alias}-t`
      const page = `/painel/loja/lojas/${await storeCalled(alias, true)}`
      await owner.get(await answerOf(await authorizationOf(page)))
      expect(await tokenOf()).to.match(/^TEST-/)
    })

    it('works when the browser comes from the provider’s site [PAY-81]', async () => {
      const back = await answerOf(await authorizationOf())
      const response = await fetch(api.url + back, {
        redirect: 'manual',
        headers: { cookie: owner.cookie(), 'sec-fetch-site': 'cross-site' },
      })
      expect(response.status).to.equal(303)
    })
  })

  describe('refusals, which change nothing', () => {
    const refused = async (address: string, user: PanelUser = owner) => {
      const before = await events()
      const { status, html } = await user.get(address)
      expect(await events()).to.equal(before)
      expect(await tokenOf()).to.equal(null)
      return { status, text: textIn(html) }
    }

    it('of an owner who denies access at the provider [PAY-81]', async () => {
      const { status, text } = await refused(await answerOf(await authorizationOf(), 'Deny'))
      expect(status).to.equal(409)
      expect(text).to.include('não autorizou')
    })

    it('of a state that was altered [PAY-81]', async () => {
      const back = await answerOf(await authorizationOf())
      const { status, text } = await refused(back.replace(/state=(\d+)/, (_, id) => `state=${Number(id) + 1}`))
      expect(status).to.equal(409)
      expect(text).to.include('expirou')
    })

    it('of a state of another user’s session [PAY-81]', async () => {
      const other = await panelUser(api, company, 'owner')
      expect((await refused(await answerOf(await authorizationOf()), other)).status).to.equal(409)
    })

    it('of a callback without a state [PAY-81]', async () => {
      expect((await refused(`${CALLBACK}?code=TG-1`)).status).to.equal(409)
    })

    it('of a code that is not the provider’s [PAY-81]', async () => {
      const back = await answerOf(await authorizationOf())
      const { status, text } = await refused(back.replace(/code=[^&]+/, 'code=TG-other'))
      expect(status).to.equal(409)
      expect(text).to.include('invalid_grant')
    })

    it('of other roles [PAY-81]', async () => {
      for (const role of ['clerk', 'accountant', 'auditor'] as const)
        expect((await refused(CALLBACK, await panelUser(api, company, role))).status, role).to.equal(403)
    })
  })

  it('uses a code once: the second callback is told so, and the store stays connected [PAY-81]', async () => {
    const back = await answerOf(await authorizationOf())
    await owner.get(back)
    const token = await tokenOf()
    expect((await owner.get(back)).status).to.equal(409)
    expect(await tokenOf()).to.equal(token)
  })

  describe('renewal', () => {
    beforeEach('connect the store', async () => {
      await owner.get(await answerOf(await authorizationOf()))
    })

    it('replaces the token when it is due [PAY-82]', async () => {
      const before = await tokenOf()
      expect(await renew()).to.deep.equal([])
      expect(await tokenOf())
        .to.match(/^APP_USR-/)
        .and.not.to.equal(before)
      expect((await store()).connection?.refusal).to.equal(null)
    })

    it('leaves a token that is not due [PAY-82]', async () => {
      const before = await tokenOf()
      await renewConnections({ ...api.core, connector, log: () => {} })
      expect(await tokenOf()).to.equal(before)
    })

    it('is done once by two processes [PAY-82]', async () => {
      await api.core.pool.query(`update ops.store_secrets set renew_at = now() where alias = $1`, [alias])
      const run = () => renewConnections({ ...api.core, connector, log: () => {} })
      await Promise.all([run(), run()])
      expect((await events()).match(/StoreConnectionRenewed/g)).to.have.length(1)
    })

    it('tells owners and the operator when the provider refuses it, and keeps the token [PAY-83]', async () => {
      const before = await tokenOf()
      sandbox.connections.revoked = true
      expect(await renew()).to.deep.equal([['payments: provider refused to renew a connection', alias]])
      expect(await tokenOf()).to.equal(before)
      expect(textIn((await owner.get(path)).html)).to.include('recusou renovar o acesso à conta (invalid_grant)')
      expect(textIn((await owner.get('/painel')).html)).to.include(
        `loja ${alias} precisa conectar de novo: o Mercado Pago recusou`,
      )
    })

    it('is repeated after a failure, and clears the refusal [PAY-83]', async () => {
      sandbox.connections.revoked = true
      await renew()
      sandbox.connections.revoked = false
      await renew()
      expect((await store()).connection?.refusal).to.equal(null)
    })

    it('does not tell owners of refused credentials of the service, which they cannot mend [PAY-83]', async () => {
      const own = createProviderConnector({
        baseUrl: sandbox.url,
        clientId: '123',
        clientSecret: 'INVALID',
        clock: Date.now,
      })
      const logged = await renew(own)
      await own.close()
      expect(logged).to.deep.equal([['payments: renewing a connection failed, will retry', alias]])
      expect((await store()).connection?.refusal).to.equal(null)
    })

    it('is repeated after an outage of the provider, which is no refusal [PAY-83]', async () => {
      const away = createProviderConnector({
        baseUrl: 'http://127.0.0.1:1',
        clientId: '123',
        clientSecret: 'app-secret',
        clock: Date.now,
      })
      await renew(away)
      await away.close()
      expect((await store()).connection?.refusal).to.equal(null)
      const { rows } = await api.core.pool.query(
        `select renew_at > now() and renew_at < now() + interval '2 hours' as soon from ops.store_secrets where alias = $1`,
        [alias],
      )
      expect(rows[0]?.soon).to.equal(true)
    })
  })

  it('is counted for the operator while it is refused [PAY-83]', async () => {
    await owner.get(await answerOf(await authorizationOf()))
    const before = await countRefusedConnections(api.core.pool)
    sandbox.connections.revoked = true
    await renew()
    expect(await countRefusedConnections(api.core.pool)).to.equal(before + 1)
  })

  it('is told on the start page while the latest attempt was refused for the credentials [PAY-51]', async () => {
    await owner.get(await answerOf(await authorizationOf()))
    const id = await placedOrder(company, alias)
    const start = async () => textIn((await owner.get('/painel')).html)
    const attempt = async (reason: string | null) => {
      const attempt_id = uuidv7()
      await company.run(startPayment, {
        id,
        attempt_id,
        idempotency_key: null,
        payment_method_id: 'pix',
      })
      if (reason) await company.run(refusePayment, { id, attempt_id, reason })
    }
    await attempt(formatMisconfiguration(new ProviderMisconfigured('refused')))
    expect(await start()).to.include(`loja ${alias} não recebe pagamentos: o Mercado Pago recusa`)
    await attempt(null)
    expect(await start()).not.to.include(`Loja ${alias}:`)
  })

  it('is told on the start page for an enabled store without a token', async () => {
    expect(textIn((await owner.get('/painel')).html)).to.include(`loja ${alias} não recebe pagamentos: falta o token`)
  })
})
