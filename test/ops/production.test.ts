import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { Webhook } from 'standardwebhooks'
import { freePort } from '#postgres/embedded.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { importFile } from '../support/import-file.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import { browser, hiddenFields, type PanelReply } from '../support/panel.ts'
import { NO_PANEL_QUOTA } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { filesIn } from '../support/zip.ts'
import { brokenLinks } from './crawl.ts'
import { createInstallation, type Installation, type RunningProcess } from './installation.ts'

const run = promisify(execFile)

/** The smallest lossless WebP. */
const WEBP = new Uint8Array(Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64'))
/** Loads every compiled file, and prints packages that are imported by `import()`. */
const LINK_ALL = `import { readdirSync, readFileSync } from 'node:fs'
  for (const file of readdirSync('dist/chunks').filter((name) => name.endsWith('.js'))) {
    const path = process.cwd() + '/dist/chunks/' + file
    for (const [, name] of readFileSync(path, 'utf8').matchAll(/\\bimport\\("([^."][^"]*)"/g)) console.log(name)
    await import(path)
  }`
const STEP = '/painel/entrar/verificar'

/** What a page hands to the authenticator of the browser. */
const optionsIn = (page: string | PanelReply) =>
  JSON.parse(
    (/data-options="([^"]*)"/.exec(typeof page === 'string' ? page : page.html)?.[1] ?? '').replaceAll('&quot;', '"'),
  )

const STARTS = ['/', '/docs', '/conferir', '/painel', '/tillbook-verify.mjs']

interface Demo {
  readonly companies: readonly {
    readonly id: number
    readonly api_key: string
    readonly user: { readonly email: string; readonly password: string }
  }[]
}

interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A server that keeps what it receives. */
async function startReceiver(): Promise<{ server: Server; url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    const { method = '', url = '', headers } = request
    received.push({
      method,
      path: url,
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
    })
    response.writeHead(200).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

describe('production installation, as the Dockerfile makes it [OPS-700]', function () {
  this.timeout(180_000)
  let installation: Installation
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let mailbox: Mailbox
  let eventStore: FakeEventStoreDb
  let service: RunningProcess
  let url: string
  let port: number
  let demo: Demo['companies'][number]
  let settings: Record<string, string>
  /** Owner of a company that is not for tests only. */
  const owner = { id: 0, company: '4', email: 'dono@loja-azul.example', password: 'uma senha de teste' }
  let paymentPage: string
  let session: ReturnType<typeof browser>

  before('make the folder, and start what the service reaches', async () => {
    ;[receiver, mailbox, eventStore] = await Promise.all([startReceiver(), openMailbox(), startFakeEventStoreDb()])
    port = await freePort(null)
    // Passkeys need a name.
    url = `http://localhost:${port}`
    settings = {
      PORT: String(port),
      PUBLIC_URL: url,
      SMTP_URL: mailbox.url,
      SEAL_PUSH_URL: `${receiver.url}/copies`,
      SEAL_EVERY_HOURS: '0.001',
      ...NO_PANEL_QUOTA,
    }
    installation = await createInstallation(settings)
  })
  after(async () => {
    await installation?.remove()
    await Promise.all([mailbox?.close(), eventStore?.close()])
    receiver?.server.close().closeAllConnections()
  })

  async function start() {
    service = installation.start(installation.command)
    await service.says(/Tillbook answers on/)
    const isHealthy = async () => (await installation.start(installation.healthCheck).ended()).code === 0
    await until(isHealthy, { timeout_ms: 60_000, interval_ms: 200, what: 'the health check' })
  }
  /** Ends the service, which should have logged no error. */
  async function stop() {
    service.kill('SIGTERM')
    const { code, stdout } = await service.ended()
    expect([code, stdout.match(/.*"level":[56]0.*/g)]).to.deep.equal([0, null])
  }
  /** Standard output of a command that has to succeed. */
  const tillbook = async (...words: string[]) => {
    const { code, stdout, stderr } = await installation.tillbook(...words).ended()
    expect(code, `${words.join(' ')}: ${stderr}`).to.equal(0)
    return stdout
  }
  const api = async (path: string, { method = 'GET', headers = {}, body }: RequestInit = {}, key = demo.api_key) => {
    const authorization = `Bearer ${key}`
    const response = await fetch(`${url}/api/v1${path}`, { method, headers: { authorization, ...headers }, body })
    const text = await response.text()
    expect(response.ok, text).to.equal(true)
    return text === '' ? null : JSON.parse(text).data
  }
  const post = (path: string, body: object, key?: string) =>
    api(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }, key)

  /** A new browser after both steps of a login. */
  async function logInAs(
    { email, password }: Demo['companies'][number]['user'],
    proofOf: (page: PanelReply) => Record<string, string> = () => ({}),
  ) {
    const visitor = browser(url)
    const page = await visitor.post('/painel/entrar', { email, password, para: '/painel' })
    if (page.status === 303) return { visitor, page }
    const proof = { ...hiddenFields(page.html, STEP), ...proofOf(page) }
    return { visitor, page: await visitor.post(STEP, proof) }
  }
  const logIn = (proofOf?: (page: PanelReply) => Record<string, string>) => logInAs(owner, proofOf)

  it('finds every package, exported name and file of the compiled program, the late ones too [OPS-701]', async () => {
    const { code, stdout, stderr } = await installation.start(['node', '--input-type=module', '-e', LINK_ALL]).ended()
    expect(code, stderr).to.equal(0)
    expect(stdout, 'packages that are imported by import()').to.equal('')
  })

  it('starts on an empty folder with its own Postgres, and stops on SIGTERM [OPS-6]', async () => {
    await start()
    expect(service.output()).to.include('migrations: 001_ledger applied')
    await until(() => receiver.received.some(({ path }) => path.startsWith('/copies/')), { timeout_ms: 60_000 })
    const { port: witnessPort, url: witnessUrl } = await placeOf()
    const witness = installation.tillbook('witness', '--port', witnessPort, '--url', url)
    const [, key = ''] = await witness.says(/WITNESS_URLS="\S+ (\S+)"/)
    await stop()
    const [stamps, sandbox] = [await placeOf(), await placeOf()]
    const [, caFile = ''] = await installation
      .tillbook('time-stamp-authority', '--port', stamps.port)
      .says(/SEAL_TSA_CA_FILE=(\S+)/)
    await installation.tillbook('provider-sandbox', '--port', sandbox.port).says(/sandbox/i)
    Object.assign(settings, {
      WITNESS_URLS: `${witnessUrl} ${key}`,
      SEAL_TSA_URL: stamps.url,
      SEAL_TSA_CA_FILE: caFile,
      PAYMENT_PROVIDER_URL: sandbox.url,
      PAYMENT_CLIENT_ID: '123',
      PAYMENT_CLIENT_SECRET: 'app-secret',
    })
    await start()
    const file = JSON.parse(await readFile(join(installation.dataDir, 'demo.json'), 'utf8')) as Demo
    expect(file.companies).to.have.length(3)
    demo = file.companies[0] as Demo['companies'][number]
  })

  it('runs the demo, an offline till, a sale, and delivers its webhook with a valid signature', async () => {
    const told = await tillbook('demo', '--url', url)
    expect(told).to.include('the signature is genuine').and.to.include('"refunded_total": "30.00"')
    paymentPage = /\/pagar\/[\w/-]+/.exec(told)?.[0] ?? ''
    expect(await tillbook('till', '--demo', '--url', url)).to.match(/^sold +25$/m)
    // A key is not told of what it did itself.
    const key = ['key', 'create', '--company', String(demo.id), '--name', 'caixa', '--scopes', 'all', '--json']
    const till = JSON.parse(await tillbook(...key)).key
    const { secret } = await post('/webhooks', { url: `${receiver.url}/hook`, events: ['sale.completed'] })
    const item = await post('/catalog/items', { name: 'Café', price: '18.90', stock: '10' })
    const cash = (await api('/sales/payment-types')).find(({ is_cash }: { is_cash: boolean }) => is_cash)
    const items = [{ catalog_item_id: item.id, quantity: '2' }]
    const sale = await post('/sales', { items, payments: [{ payment_type_id: cash.id, amount: '40.00' }] }, till)
    const delivery = await until(() => receiver.received.find(({ path }) => path === '/hook'))
    expect(new Webhook(secret).verify(delivery.body, delivery.headers)).to.nested.include({ 'data.id': sale.id })
    const picture = { method: 'PUT', headers: { 'content-type': 'image/webp' }, body: WEBP }
    const { picture_url } = await api(`/catalog/items/${item.id}/picture`, picture)
    expect((await fetch(url + picture_url)).headers.get('content-type')).to.equal('image/webp')
  })

  it('gets cosignatures, time stamps that openssl verifies, and copies of its checkpoints', async () => {
    const isSound = async () => (await installation.tillbook('ledger', 'attestors').ended()).code === 0
    await until(isSound, { timeout_ms: 60_000, interval_ms: 500, what: 'all attestors' })
    const kinds = JSON.parse(await tillbook('ledger', 'attestors', '--json')).map(({ kind }: { kind: string }) => kind)
    expect(kinds.sort()).to.deep.equal(['copy', 'cosignature', 'time_stamp'])
    const seals = join(installation.dataDir, 'seals')
    const files = (await readdir(seals, { recursive: true })).map((file) => join(seals, file))
    const stamp = files.find((file) => file.endsWith('.tsr')) ?? ''
    const { stdout } = await run('openssl', ['ts', '-reply', '-in', stamp, '-text'])
    expect(stdout).to.include('Status: Granted.')
  })

  it('makes companies and users with the command line beside the service', async () => {
    const company = ['company', 'create', '--name', 'Loja Azul', '--cnpj', '11222333000181', '--plan', 'api']
    owner.company = String(JSON.parse(await tillbook(...company, '--json')).id)
    const user = ['user', 'create', '--company', owner.company, '--email', owner.email, '--name', 'Dono']
    await tillbook(...user, '--role', 'owner', '--password', owner.password)
    expect(await tillbook('user', 'list', '--company', owner.company)).to.include(owner.email)
  })

  it('runs the verbs that read and prove ledgers, and the verifier on what they give out', async () => {
    const at = (name: string) => join(installation.dataDir, name)
    const company = ['--company', String(demo.id)]
    await tillbook('ledger', 'verify')
    await tillbook('ledger', 'seal', '--all')
    await tillbook('ledger', 'export', ...company)
    await tillbook('ledger', 'history', ...company, '--subject', 'sale/1')
    await tillbook('ledger', 'as-of', ...company, '--at', '30', '--get', '/catalog/items/1')
    await tillbook('ledger', 'public-key')
    await tillbook('projections', 'verify')
    await tillbook('projections', 'rebuild', '--at-once')
    await tillbook('person', 'export', ...company, '--subject', 'customer/1', '--to', at('person'))
    await tillbook('audit', 'pack', ...company, '--to', at('pack.zip'))
    const files = [...(await filesIn(await readFile(at('pack.zip'))))].filter(([name]) => name.endsWith('.jsonl'))
    const paths = files.map(([name]) => join(installation.inbox, name.replaceAll('/', '-')))
    await Promise.all(files.map(([, text], place) => writeFile(paths[place] ?? '', text)))
    const verifier = await installation.start(['node', 'verifier/tillbook-verify.mjs', ...paths]).ended()
    expect(verifier.code, verifier.stdout).to.equal(0)
  })

  it('forwards what "trigger" causes to "listen"', async () => {
    const key = ['--key', demo.api_key, '--url', url]
    const listener = installation.tillbook('listen', ...key, '--forward-to', `${receiver.url}/listener`)
    await listener.says(/Listening to/)
    await tillbook('trigger', 'sale.completed', ...key)
    await until(() => receiver.received.some(({ path }) => path === '/listener'), { timeout_ms: 30_000 })
  })

  it('logs people in with passwords, codes of an app and passkeys, and sends e-mail', async () => {
    const { visitor } = await logIn()
    const { app, key } = { app: '/painel/conta/verificacao/aplicativo', key: '/painel/conta/verificacao/chave' }
    const setup = await visitor.get(app)
    const secret = Secret.fromBase32(hiddenFields(setup.html, app).chave ?? '')
    const codeIn = (seconds: number) => TOTP.generate({ secret, timestamp: Date.now() + seconds * 1_000 })
    const proof = { code: codeIn(0), current_password: owner.password }
    expect((await visitor.post(app, { ...hiddenFields(setup.html, app), ...proof })).status).to.equal(200)
    expect((await logIn(() => ({ code: codeIn(30) }))).page.to).to.equal('/painel')
    const authenticator = createAuthenticator(url)
    const { html } = await visitor.get(key)
    const passkey = authenticator.create(optionsIn(html))
    const fields = { ...hiddenFields(html, key), label: 'Chave', current_password: owner.password, passkey }
    expect((await visitor.post(key, fields)).status).to.be.lessThan(400)
    const second = await logIn((step) => ({ passkey: authenticator.get(optionsIn(step)) }))
    expect(second.page.to).to.equal('/painel')
    await browser(url).submit('/painel/esqueci', { email: owner.email })
    const isReset = ({ to, text }: Mailbox['letters'][number]) =>
      to.includes(owner.email) && text.includes('nova-senha')
    await until(() => mailbox.letters.some(isReset))
    session = second.visitor
  })

  it('imports a file, and connects a store to the provider', async () => {
    const csv = 'Código;Produto;Preço de venda (R$)\r\nP1;Café torrado 500 g;18,90\r\n'
    const user = { ...session, ...owner, logIn: async () => expect.fail() }
    expect((await importFile({ api: { url }, user }, '/catalogo/importar', csv)).check).to.include('Novos 1')
    const store = JSON.parse(
      await tillbook('store', 'create', '--company', owner.company, '--alias', 'azul', '--commission', '5', '--json'),
    )
    const { html } = await session.get(`/painel/loja/lojas/${store.id}`)
    const button = /href="([^"]*\/authorization\?[^"]*)"/.exec(html)?.[1] ?? ''
    const asked = await (await fetch(button.replaceAll('&amp;', '&'))).text()
    const granted = new URL((/href="([^"]+)">Grant access/.exec(asked)?.[1] ?? '').replaceAll('&amp;', '&'))
    await session.get(granted.pathname + granted.search)
    expect((await session.get(`/painel/loja/lojas/${store.id}`)).html).to.include('Conta conectada')
  })

  it('answers every link of its pages: panel, /docs with the guides, /conferir, the verifier', async () => {
    const { broken, visited } = await brokenLinks(url, [...STARTS, paymentPage], {
      cookie: (await logInAs(demo.user)).visitor.cookie(),
    })
    expect(broken).to.deep.equal([])
    expect(visited).to.include.members(['/docs/webhooks', '/docs/guias/nfce', '/painel/auditoria', '/favicon.svg'])
    expect(visited.length).to.be.greaterThan(80)
  })

  it('moves its ledgers to an EventStoreDB, and goes on with it', async () => {
    await stop()
    await tillbook('ledger', 'copy', '--to', eventStore.url)
    const copied = eventStore.all.length
    Object.assign(settings, { EVENTSTORE_URL: eventStore.url })
    await start()
    await post('/catalog/items', { name: 'Chá', price: '9.90' })
    expect(eventStore.all.length).to.be.greaterThan(copied).and.greaterThan(900)
  })

  it('stops on SIGTERM with its Postgres, and empties the folder on a reset', async () => {
    await stop()
    const reset = await installation.start(['node', 'dist/src/postgres/reset.js']).ended()
    expect(reset.code, reset.stderr).to.equal(0)
    expect(await readdir(installation.dataDir)).to.deep.equal([])
  })
})

async function placeOf(): Promise<{ port: string; url: string }> {
  const port = await freePort(null)
  return { port: String(port), url: `http://127.0.0.1:${port}` }
}
