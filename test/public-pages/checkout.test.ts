import { expect } from 'chai'
import type { Pool } from 'pg'
import QRCode from 'qrcode'
import { updateCompany } from '#commands/company-commands.ts'
import { createStore, disableStore } from '#commands/store-commands.ts'
import type { LiveUpdates } from '#http/live-updates.ts'
import { ownKey } from '#ledger/write/idempotency.ts'
import { Unavailable } from '#lib/errors.ts'
import {
  ProviderMisconfigured,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { createOrderUpdates } from '#public/checkout-live.ts'
import { createPayByPix } from '#public/checkout-page.tsx'
import { useCashier } from '../api/cashier.ts'
import { type Json, PUBLIC_URL } from '../support/api.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { browser, type PanelReply, textIn } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

const CODE = '00020126580014br.gov.bcb.pix0136sandbox-15303986540571.525802BR6304ABCD'
const PIX = { qr_code: CODE, qr_code_base64: 'aVZCT1I=', ticket_url: null }

describe('checkout page', () => {
  const { api, company, provider, logged, alias, pay, show, tell } = useCashier()
  const visitor = () => browser(api.url)

  async function place(email: string | null = 'ana@example.com'): Promise<Json & { path: string }> {
    const items = [
      { description: 'Cesta de <café>', quantity: '1.5', unit_price: '40.00' },
      { description: 'Cartão', quantity: '1', unit_price: '2.82' },
    ]
    const customer = { name: 'Ana Souza', email, document: '52998224725' }
    const order = { store_alias: alias(), external_id: null, customer, items, delivery_fee: '8.70' }
    const { data } = (await company.post('/orders', order)).body
    return { ...data, path: data.payment_url.slice(PUBLIC_URL.length) }
  }

  const withCode = () => provider.twist((charge) => Object.assign(charge(), { details: { pix: PIX } }))
  const press = (path: string, fields: Record<string, string> = {}) => visitor().submit(path, fields, `${path}/pix`)
  const codeOf = async (path: string) =>
    /name="codigo" value="([^"]+)"/.exec((await visitor().get(path)).html)?.[1] ?? ''

  it('shows the order to anyone with the link, without data of the buyer [ORDER-30]', async () => {
    const { path, payment_url, id } = await place()
    expect((await show(id)).payment_url).to.equal(payment_url)
    expect((await company.get(`/orders?store_alias=${alias()}`)).body.data[0].payment_url).to.equal(payment_url)
    const { status, html } = await visitor().get(path)
    expect(status).to.equal(200)
    const text = textIn(html)
    expect(text).to.include(`Loja ${company.id} Pedido ${id} Aguardando pagamento R$ 71,52 Pagar R$ 71,52 com Pix`)
    expect(text).to.include('Cesta de <café> 1,5 R$ 60,00 Cartão 1 R$ 2,82 Entrega R$ 8,70 Total R$ 71,52')
    for (const personal of ['Ana', 'Souza', 'example.com', '52998224725', '529.982'])
      expect(html).not.to.include(personal)
  })

  it('shows brand, CNPJ and contact of the shop, also on error pages', async () => {
    const { path } = await place()
    const logo_url = `/pictures/${company.id}/logo/${'0b'.repeat(32)}.webp`
    await company.run(updateCompany, {
      phone: '8133334444',
      address: 'Rua do Sol, 10',
      brand_color: '#ffe000',
      logo_url,
    })
    withCode()
    await press(path)
    const { html } = await visitor().get(path)
    expect(textIn(html)).to.include(`CNPJ 11.222.333/0001-81 Rua do Sol, 10 Telefone: (81) 3333-4444`)
    expect(html).to.include(`<img class="logo" src="${logo_url}"`)
    const order = ['class="amount"', 'Copiar código', 'class="qr"', '<textarea'].map((part) => html.indexOf(part))
    expect(order)
      .to.deep.equal([...order].sort((a, b) => a - b))
      .and.not.include(-1)
    const style = /href="(\/pagar\/assets\/[0-9a-f]{12}\/marca-ffe000\.css)"/.exec(html)?.[1] ?? ''
    expect(await (await fetch(api.url + style)).text()).to.include('--on-brand:#000000')
    const refused = await visitor().post(`${path}/pix`, { codigo: 'x' })
    expect(textIn(refused.html)).to.include(`Loja ${company.id} Não foi possível continuar`)
  })

  it('is in the same face as the panel, and weighs less than 90 KB in all [ORDER-82]', async () => {
    const { html } = await visitor().get((await place()).path)
    const files = [...html.matchAll(/(?:href|src)="(\/pagar\/assets\/[^"]+)"/g)].map(([, path]) => path as string)
    expect(files.join()).to.include('/inter.woff2').and.include('/font.css')
    const sizes = await Promise.all(
      files.map(async (path) => (await (await fetch(api.url + path)).arrayBuffer()).byteLength),
    )
    expect(sizes.reduce((sum, size) => sum + size, html.length)).to.be.below(90_000)
  })

  it('forbids caching, indexing and referrers, and loads nothing from other hosts [ORDER-37]', async () => {
    const { headers, html } = await visitor().get((await place()).path)
    expect(headers.get('content-security-policy')).to.match(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    expect(headers.get('content-security-policy')).not.to.include('unsafe')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('referrer-policy')).to.equal('no-referrer')
    expect(headers.get('x-robots-tag')).to.include('noindex')
    expect(headers.getSetCookie()).to.deep.equal([])
    expect(html).not.to.match(/(?:src|href|action)="https?:/)
  })

  it('responds alike for a wrong token, a token of another store, and none [ORDER-32]', async () => {
    const { path, id } = await place()
    const token = path.split('/').at(-1) ?? ''
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    const paths = [
      `${alias()}/${wrong}`,
      `outra-loja/${token}`,
      `Loja%20X/${token}`,
      `${alias()}/${id}`,
      `${alias()}/%00`,
    ]
    const replies = []
    for (const one of paths)
      for (const { status, html } of [
        await visitor().get(`/pagar/${one}`),
        await visitor().get(`/pagar/${one}/ao-vivo`),
        await visitor().post(`/pagar/${one}/pix`, { codigo: await codeOf(path) }),
      ])
        replies.push([status, html.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '')].join(' '))
    expect(new Set(replies).size).to.equal(1)
    expect(replies[0]).to.match(/^404 .*Página não encontrada/)
    expect(logged).to.deep.equal([])
  })

  it('starts one attempt for twelve concurrent forms, and shows its code as QR code and text [PAY-40]', async () => {
    const { path, id } = await place()
    withCode()
    const codigo = await codeOf(path)
    const replies: PanelReply[] = await Promise.all(
      Array.from({ length: 12 }, () => visitor().post(`${path}/pix`, { codigo })),
    )
    expect(replies.map(({ status, to }) => [status, to])).to.deep.equal(Array(12).fill([303, path]))
    expect(provider.payments).to.have.length(1)
    const { payments } = await show(id)
    expect(payments).to.have.length(1)
    expect(Date.parse(payments[0].expires_at) - Date.parse(payments[0].started_at)).to.equal(3_600_000)
    const { html } = await visitor().get(path)
    expect(html).to.include((await QRCode.toString(CODE, { type: 'svg', errorCorrectionLevel: 'M' })).trim())
    expect(html).to.match(new RegExp(`<textarea[^>]* readonly[^>]*>${CODE}</textarea>`, 'i'))
    expect(textIn(html)).to.include('faltam 60 minutos')
    // A late form, as from another tab, shows the pending attempt.
    expect((await visitor().post(`${path}/pix`, { codigo })).status).to.equal(303)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('starts one attempt across several processes [PAY-40]', async () => {
    const { id } = await place()
    const order = await show(id)
    const processes = [1, 2, 3].map(() => createPayByPix({ ...api.core, provider, publicUrl: PUBLIC_URL }))
    const wanted = { companyId: company.id, order, email: null, requestId: 'r' }
    expect(await Promise.all(processes.map((payByPix) => payByPix(wanted)))).to.deep.equal([null, null, null])
    expect(provider.payments).to.have.length(1)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('starts nothing while a boleto is pending, and shows its digits [PAY-40]', async () => {
    const { path, id } = await place()
    const codigo = await codeOf(path)
    const boleto = { barcode: '2379', digitable_line: '23790.00000 1', ticket_url: 'https://provider.example/b' }
    provider.twist((charge) => Object.assign(charge(), { details: { boleto } }))
    const address = {
      zip_code: '01310100',
      street: 'Rua',
      number: '1',
      neighborhood: 'Centro',
      city: 'São Paulo',
      state: 'SP',
    }
    await pay(id, undefined, { method: 'boleto', payer: { address } })
    expect((await visitor().post(`${path}/pix`, { codigo })).status).to.equal(303)
    expect((await show(id)).payments).to.have.length(1)
    const { html } = await visitor().get(path)
    expect(textIn(html)).to.include('Linha digitável 23790.00000 1')
    expect(html).to.include('https://provider.example/b').and.not.to.include('name="codigo"')
  })

  it('repeats an unanswered attempt under its key, and starts a new one after a refusal [PAY-40, PAY-62]', async () => {
    const { path, id } = await place()
    provider.twist(() => {
      throw new ProviderUnavailable('late')
    })
    const unanswered = await press(path)
    expect(unanswered.status).to.equal(503)
    expect(textIn(unanswered.html)).to.include('Tente de novo em instantes Nada foi cobrado')
    expect(unanswered.html).to.include(`<a href="${path}">`)
    expect(textIn((await visitor().get(path)).html)).to.include('sendo gerado')
    provider.twist(() => {
      throw new ProviderRefused([{ code: '1', description: 'no' }])
    })
    const refused = await press(path)
    expect([refused.status, textIn(refused.html)].join()).to.match(
      /^422,.*não aceitou gerar o código. Nada foi cobrado/,
    )
    withCode()
    expect((await press(path)).status).to.equal(303)
    const attempts = provider.calls.map(({ attemptId }) => attemptId)
    expect(attempts[1]).to.equal(attempts[0])
    expect(attempts[2]).to.not.equal(attempts[0])
    expect((await show(id)).payments.map(({ status }: Json) => status)).to.deep.equal(['failed', 'pending'])
  })

  it('uses idempotency keys that API clients cannot occupy [PAY-61]', async () => {
    const { path, id } = await place()
    const { provider_reference } = await show(id)
    const key = `pagar:${provider_reference}:0`
    expect((await company.post('/customers', { name: 'Ana' }, { 'idempotency-key': key })).status).to.equal(201)
    const other = await place()
    await pay(other.id, `pagar:${provider_reference}:1`)
    const own = Buffer.from(ownKey(`pagar:${provider_reference}:0`), 'latin1').toString('latin1')
    expect((await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': own })).status).to.equal(422)
    withCode()
    expect((await press(path)).status).to.equal(303)
    expect((await show(id)).payments.map(({ status }: Json) => status)).to.deep.equal(['pending'])
  })

  it('shows that the order was paid meanwhile instead of an error [PAY-62]', async () => {
    const paid = await place()
    const codigo = await codeOf(paid.path)
    provider.status = 'approved'
    await pay(paid.id)
    const late = await visitor().post(`${paid.path}/pix`, { codigo })
    expect([late.status, late.to]).to.deep.equal([303, paid.path])
    expect(textIn((await visitor().get(paid.path)).html)).to.include('Pagamento recebido')
  })

  it('states that no code was created and nothing charged after a key conflict [PAY-62]', async () => {
    const { path, id } = await place()
    await api.core.pool.query(
      `insert into ops.idempotent_answers (company_id, key, request_hash, outcome, body, created_at)
       values ($1, $2, 'x', 'created', '{}', clock_timestamp())`,
      [company.id, ` ${ownKey(`pagar:${(await show(id)).provider_reference}:0`)}`],
    )
    const { status, html } = await press(path)
    expect(status).to.equal(409)
    expect(textIn(html)).to.include('Não foi possível gerar o código Pix. Nada foi cobrado')
  })

  it('states that the store accepts no payments if its credentials are rejected, without details [PAY-62]', async () => {
    const { path } = await place()
    provider.twist(() => {
      throw new ProviderMisconfigured('the token TEST-access-token was not accepted')
    })
    const { status, html } = await press(path)
    expect(status).to.equal(500)
    expect(textIn(html)).to.include('A loja não pode receber pagamentos agora. Nada foi cobrado')
    expect(html).not.to.include('TEST-access-token')
    expect(logged).to.have.length(1)
  })

  it('refuses forms from other sites, and forms without the token of the page [PAY-41]', async () => {
    const { path, id } = await place()
    const codigo = await codeOf(path)
    const post = async (fields: Record<string, string | string[]>, headers = {}) =>
      (await visitor().post(`${path}/pix`, fields, headers)).status
    for (const site of ['cross-site', 'same-site'])
      expect(await post({ codigo }, { 'sec-fetch-site': site })).to.equal(403)
    for (const wrong of ['', 'x', codigo.slice(1), 'é'.repeat(22)]) expect(await post({ codigo: wrong })).to.equal(403)
    expect(await post({})).to.equal(403)
    expect(await post({ codigo: [codigo, codigo] })).to.equal(403)
    expect(await post({ codigo, email: 'x'.repeat(3_000) })).to.equal(413)
    expect(await post({ codigo }, { 'content-type': 'text/plain' })).to.equal(415)
    expect((await show(id)).payments).to.deep.equal([])
    expect(logged).to.deep.equal([])
  })

  it('asks for an e-mail if the order has none, sends it to the provider, and does not store it', async () => {
    const { path } = await place(null)
    expect((await press(path, { email: 'ana' })).status).to.equal(422)
    withCode()
    expect((await press(path, { email: 'bia@example.com' })).status).to.equal(303)
    expect(provider.calls.map(({ payer }) => payer.email)).to.deep.equal(['bia@example.com'])
    const { rows } = await api.core.pool.query(
      `select from ledger.events where envelope::text like '%bia@example.com%'
       union all select from orders where doc::text like '%bia@example.com%'`,
    )
    expect(rows).to.have.length(0)
  })

  it('offers no Pix if the store is closed, cannot take it, or twenty attempts failed [PAY-42]', async () => {
    const [{ path }, tried] = [await place(), await place()]
    expect(await codeOf(path)).to.not.equal('')
    provider.status = 'rejected'
    for (let n = 0; n < 20; n++) await pay(tried.id)
    expect(await codeOf(tried.path)).to.equal('')
    await company.run(disableStore, { alias: alias() })
    const { html } = await visitor().get(path)
    expect(html).not.to.include('name="codigo"')
    expect(textIn(html)).to.include('Combine o pagamento com a loja.')
  })

  it('updates within 2 s after a payment notification, and then shows no payment link [ORDER-35]', async () => {
    const { path, id } = await place()
    withCode()
    await press(path)
    const { html } = await visitor().get(path)
    const events = /data-events="([^"]+)"/.exec(html)?.[1] ?? ''
    const leaving = new AbortController()
    const stream = await fetch(api.url + events, { signal: leaving.signal })
    expect(stream.headers.get('content-type')).to.include('text/event-stream')
    const told = (async () => {
      const texts = new TextDecoderStream()
      let heard = ''
      for await (const text of stream.body?.pipeThrough(texts) ?? []) {
        heard += text
        if (heard.includes('event: mudou')) return performance.now()
      }
      throw new Error(`the stream ended after ${heard}`)
    })()
    await tell(id, { ...(provider.payments[0] as ProviderPayment), status: 'approved' })
    const applied = performance.now()
    expect((await told) - applied).to.be.below(2_000)
    leaving.abort()
    const paid = await visitor().get(path)
    expect(textIn(paid.html)).to.include('Pagamento recebido')
    expect(paid.html).not.to.include('data-events').and.not.to.include(CODE)
    expect((await show(id)).payment_url).to.equal(null)
  })

  it('is unchanged after a rebuild of the read model [ORDER-30]', async () => {
    const { id, payment_url } = await place()
    await api.core.rebuild()
    await until(async () => (await show(id)).payment_url === payment_url)
  })
})

describe('checkout page: limits', () => {
  const provider = createMemoryProvider()
  const { api, company } = useCompany({ provider, trustProxy: true, checkoutsPerMinute: 100 })

  before(() =>
    company.run(createStore, { alias: 'loja', commission_percentage: '5', sandbox: true, access_token: 'TEST-token' }),
  )

  async function place(): Promise<string> {
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '71.52' }]
    const customer = { name: 'Ana', email: 'ana@example.com' }
    const { data } = (await company.post('/orders', { store_alias: 'loja', customer, items })).body as { data: Json }
    return data.payment_url.slice(PUBLIC_URL.length)
  }

  const get = (path: string, address: string) =>
    fetch(api.url + path, { headers: { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' } })

  it('count requests per address over all paths, separately for each address [ORDER-36]', async () => {
    const path = await place()
    const guesses = Array.from({ length: 100 }, (_, n) => get(`/pagar/loja/${n + 1}-${'A'.repeat(44)}`, '198.51.100.1'))
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).to.deep.equal(new Set([404]))
    const refused = await get(path, '198.51.100.1')
    expect(refused.status).to.equal(429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expect(await refused.text()).to.include('Muitas tentativas')
    expect((await get(path, '198.51.100.2')).status).to.equal(200)
  })

  it('count the forms of an order over all addresses, and call the provider once [PAY-42]', async () => {
    const path = await place()
    const { html } = await browser(api.url).get(path)
    const codigo = /name="codigo" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const before = provider.calls.length
    const statuses = []
    for (let n = 0; n < 31; n++) {
      const headers = { 'x-forwarded-for': `203.0.113.${n}`, 'x-forwarded-proto': 'https' }
      statuses.push((await browser(api.url).post(`${path}/pix`, { codigo }, headers)).status)
    }
    expect(statuses.slice(0, 30)).to.deep.equal(Array(30).fill(303))
    expect(statuses[30]).to.equal(429)
    expect(provider.calls.length - before).to.equal(1)
  })

  it('refuse plain HTTP [ORDER-37]', async () => {
    const path = await place()
    const reply = await fetch(api.url + path, {
      headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' },
    })
    expect(reply.status).to.equal(403)
  })
})

/** Ledger with scripted revisions of the company and its orders. */
function stage() {
  const revisions = new Map<number, number>()
  const subscribers = new Set<Parameters<LiveUpdates['subscribe']>[2]>()
  let looks = 0
  const live: LiveUpdates = {
    subscribe(_companyId, _since, subscriber) {
      subscribers.add(subscriber)
      return () => void subscribers.delete(subscriber)
    },
    close: async () => {},
  }
  const pool = {
    async query({ values: [, ids] }: { values: [number, number[]] }) {
      looks += 1
      return { rows: ids.flatMap((id) => (revisions.has(id) ? { id, revision: revisions.get(id) } : [])) }
    },
  } as unknown as Pool
  const updates = createOrderUpdates({
    live,
    pool,
    onError(error) {
      throw error
    },
  })
  const follow = (orderId: number, since = 0, companyId = 1) => {
    const told: (number | 'ended')[] = []
    const follower = { moved: (revision: number) => told.push(revision), ended: () => told.push('ended') }
    return { told, stop: updates.follow({ companyId, orderId, since }, follower) }
  }
  return { revisions, subscribers, follow, looks: () => looks }
}

describe('checkout page: live updates', () => {
  it('notify of changes of the own order only, including those before the stream opened [ORDER-35]', async () => {
    const { revisions, subscribers, follow } = stage()
    revisions.set(1, 5).set(2, 5)
    const [late, other] = [follow(1, 4), follow(2, 5)]
    await until(() => late.told.length > 0)
    revisions.set(1, 9)
    for (const { moved } of subscribers) moved(9)
    await until(() => late.told.length > 1)
    expect(late.told).to.deep.equal([5, 9])
    expect(other.told).to.deep.equal([])
  })

  it('share one subscription per company for any number of pages, and merge frequent changes [ORDER-36]', async () => {
    const { revisions, subscribers, follow, looks } = stage()
    const pages = Array.from({ length: 30 }, (_, n) => follow(n + 1))
    expect(subscribers.size).to.equal(1)
    revisions.set(30, 1_000)
    for (const { moved } of subscribers) for (let n = 1; n <= 1_000; n++) moved(n)
    await until(() => pages[29]?.told.includes(1_000))
    expect(looks()).to.be.at.most(2)
    for (const { stop } of pages) stop()
    expect(subscribers.size).to.equal(0)
  })

  it('allow ten pages per order, and reserve capacity for other companies [ORDER-36]', () => {
    const { follow } = stage()
    const pages = Array.from({ length: 10 }, () => follow(1))
    expect(() => follow(1)).to.throw(Unavailable)
    pages[0]?.stop()
    follow(1)
    let order = 1
    expect(() => {
      for (;;) follow(++order)
    }).to.throw(Unavailable)
    expect(order).to.be.within(400, 600)
    expect(() => follow(1, 0, 2)).to.not.throw()
  })

  it('end with the process [ORDER-35]', () => {
    const { subscribers, follow } = stage()
    const page = follow(1)
    for (const { ended } of subscribers) ended()
    expect(page.told).to.deep.equal(['ended'])
  })
})
