import { expect } from 'chai'
import { after, before, beforeEach, describe, it } from 'mocha'
import { v7 as uuidv7 } from 'uuid'
import { refusePayment, startPayment } from '#commands/order-attempts.ts'
import { createStore } from '#commands/store-commands.ts'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-listener.ts'
import { streamOf } from '#ledger/command.ts'
import { misconfigurationOf } from '#payments/pay-order.ts'
import { ProviderMisconfigured } from '#payments/provider-port.ts'
import { createProviderConnector, type ProviderConnector, renewConnections } from '#payments/store-connections.ts'
import type { StoreObject } from '#projections/stores.ts'
import { fullReader } from '#queries/reader.ts'
import { countRefusedConnections, findStore, listStores } from '#queries/store-queries.ts'
import { placedOrder } from '../support/orders.ts'
import { type PanelUser, panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { standIn } from '../support/use-api.ts'

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
      [streamOf(company.id)],
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
    await attempt(misconfigurationOf(new ProviderMisconfigured('refused')))
    expect(await start()).to.include(`loja ${alias} não recebe pagamentos: o Mercado Pago recusa`)
    await attempt(null)
    expect(await start()).not.to.include(`Loja ${alias}:`)
  })

  it('is told on the start page for an enabled store without a token', async () => {
    expect(textIn((await owner.get('/painel')).html)).to.include(`loja ${alias} não recebe pagamentos: falta o token`)
  })
})
