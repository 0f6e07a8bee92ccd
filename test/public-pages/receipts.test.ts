import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { loadInstallationId } from '#integrity/installation.ts'
import { checkpointPath, SealsUnwritable, sealingError } from '#integrity/note.ts'
import { covering, makeSaleReceipt, type Receipt, toReceiptDigits } from '#integrity/sale-receipts.ts'
import { LedgerNotIntact } from '#integrity/verify.ts'
import type { Envelope } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import { toTrustedKeys } from '#public/receipt-page.tsx'
import { fullReader } from '#queries/reader.ts'
import { expectProblem } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { fiscalDocument } from '../support/facts.ts'
import { openCounter } from '../support/offline-sales.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { loadVerification } from '../support/receipts.ts'
import { sealsOf } from '../support/seals.ts'
import { useCompany } from '../support/use-api.ts'

const { verifyReceipt, readGiven } = await loadVerification()

const NAME = 'Maria das Dores Oliveira'
const KIBIBYTES_4 = 4_096
/** All lines differ, so that compression has a realistic effect. */
const lineOf = (place: number) => ({
  description: `Pão de queijo ${(place * 2_654_435_761).toString(36)}`,
  quantity: '1',
  unit_price: '1.00',
})

describe('receipts of sales', () => {
  const { api, company } = useCompany()
  let sales: { plain: Json; known: Json; long: Json; cancelled: Json; atTill: Json }
  let customerId: number

  before('create all sales first, so that one checkpoint covers them', async () => {
    const counter = await openCounter(company)
    const customer = await company.post('/customers', { name: NAME, external_id: 'cliente-1' })
    customerId = customer.body.data.id
    const of = (count: number) => ({
      items: Array.from({ length: count }, (_, place) => lineOf(place)),
      payments: [{ payment_type_id: counter.cash, amount: `${count}.00` }],
    })
    sales = {
      plain: await counter.sell(),
      known: await counter.sell({ customer_id: customerId, ...of(10) }),
      long: await counter.sell(of(300)),
      cancelled: await counter.sell(),
      atTill: await counter.record(counter.sale('pdv-9', { status: 'cancelled' })),
    }
    await company.post(`/sales/${sales.cancelled.id}/cancel`, { reason: 'Desistência' })
    const document = { ...fiscalDocument, status: 'cancelled' }
    const put = await company.call('PUT', `/sales/${sales.cancelled.id}/fiscal-document`, document)
    expect(put.status, put.text).to.equal(200)
  })

  const trusted = async () => toTrustedKeys(await loadInstallationId(api.core.pool), await api.core.proof.keys())

  async function receiptText(sale: Json): Promise<string> {
    const { status, text } = await company.get(`/sales/${sale.id}/receipt`)
    expect(status, text).to.equal(200)
    return text
  }

  /** Receipt that passes the verification page. */
  async function provedReceipt(text: string): Promise<Receipt> {
    const verdict = await verifyReceipt(text, await trusted())
    if (verdict.outcome !== 'proved') throw new Error(`${verdict.outcome}: ${text}`)
    return verdict.receipt
  }

  const checkpoints = async (): Promise<number> => {
    const { rows } = await api.core.pool.query<{ count: number }>(
      'select count(*)::int as count from ops.ledger_checkpoints where company_id = $1',
      [company.id],
    )
    return rows[0]?.count ?? 0
  }

  it('are proved by a checkpoint made on request, which serves all sales it covers [PROOF-40, PROOF-41]', async () => {
    const texts = await Promise.all(Object.values(sales).map(receiptText))
    expect(await checkpoints()).to.equal(1)
    for (const [place, text] of texts.entries())
      expect((await provedReceipt(text)).event.data).to.include({ id: Object.values(sales)[place].id })
  })

  it('have at most 4 KB for an ordinary sale, and grow with its items [PROOF-40]', async () => {
    const text = await receiptText(sales.known)
    // Size in a ledger of a million events, with proofs of 20 hashes.
    const inLargest = text.length + 20 * 48
    expect(inLargest).to.be.at.most(KIBIBYTES_4)
    const long = await receiptText(sales.long)
    expect(long.length).to.be.within(40_000, 80_000)
    expect(toReceiptDigits(JSON.parse(text))?.length).to.be.below(4_700)
  })

  it('receipts contain the sealed event, and outlive an erasure [PROOF-40]', async () => {
    const before = await receiptText(sales.known)
    expect(before).to.contain('"sealed":')
    expect(before).to.not.contain(NAME)
    const reply = await company.post(`/customers/${customerId}/forget`, {
      ground: 'holder_request',
      reason: 'Protocolo 7',
    })
    expect(reply.status, reply.text).to.equal(200)
    const since = await receiptText(sales.known)
    for (const text of [before, since])
      expect((await provedReceipt(text)).event.subject).to.equal(`sale/${sales.known.id}`)
    expect(JSON.parse(since)).to.deep.equal(JSON.parse(before))
  })

  it('of a cancelled sale contain the cancellation, regardless of later events [PROOF-42]', async () => {
    const { event, cancellation } = await provedReceipt(await receiptText(sales.cancelled))
    expect(event.type).to.equal('SaleCompleted')
    expect(cancellation?.event).to.include({ type: 'SaleCancelled', subject: event.subject })
    const atTill = await provedReceipt(await receiptText(sales.atTill))
    expect(atTill.event.type).to.equal('OfflineSaleCancelled')
    expect(atTill).to.not.have.property('cancellation')
  })

  it('require sales:read and a sale of the company [PROOF-40]', async () => {
    const other = await api.company()
    for (const id of [sales.plain.id, 999_999, 'x'])
      expectProblem(await other.get(`/sales/${id}/receipt`), 404, 'not_found')
    const { key } = await company.newKey(['catalog:read'])
    const headers = { authorization: `Bearer ${key}` }
    expectProblem(
      await company.call('GET', `/sales/${sales.plain.id}/receipt`, undefined, headers),
      403,
      'insufficient_scope',
    )
  })

  it('rebuild the hash tree if its stored tiles were altered [PROOF-41]', async () => {
    const { pool } = api.core
    await pool.query(
      `update ops.tree_tiles set hashes = substring(hashes from 33) || substring(hashes for 32) where log = $1`,
      [company.id],
    )
    expect((await provedReceipt(await receiptText(sales.plain))).event.subject).to.equal(`sale/${sales.plain.id}`)
  })

  it('can be printed and downloaded in the panel [PROOF-46]', async () => {
    const user = await panelUser(api, company, 'manager')
    const codeOf = async (sale: Json): Promise<string> => {
      const { html } = await user.get(`/painel/vendas/${sale.id}/recibo`)
      expect(html).to.match(/<div class="qr" role="img" aria-label="QR Code do recibo"><svg /)
      return /href="[^"]*\/conferir\?loja=[\w.-]+#([^"]+)"/.exec(html)?.[1] ?? ''
    }
    const whole = await readGiven(await codeOf(sales.known))
    expect(whole).to.equal(await receiptText(sales.known))
    const { event } = JSON.parse(await receiptText(sales.long))
    expect(await codeOf(sales.long)).to.equal(`hash=${event.hash}`)
    expect((await user.get(`/painel/vendas/${sales.cancelled.id}/recibo`)).html).to.contain('Venda cancelada em')

    const file = await user.get(`/painel/vendas/${sales.long.id}/recibo/arquivo`)
    expect(file.html).to.equal(await receiptText(sales.long))
    expect(file.headers.get('content-disposition')).to.equal(
      `attachment; filename="recibo-venda-${sales.long.id}.json"`,
    )
    const stranger = await panelUser(api, await api.company(), 'owner')
    for (const path of ['recibo', 'recibo/arquivo'])
      expect((await stranger.get(`/painel/vendas/${sales.plain.id}/${path}`)).status).to.equal(404)
  })

  it('are verified on a self-contained page with the keys of the service [PROOF-48, PROOF-49]', async () => {
    const reply = await fetch(`${api.url}/conferir`)
    const html = await reply.text()
    expect(reply.status).to.equal(200)
    const { shop: _, ...keys } = JSON.parse(
      /<script id="chaves" type="application\/json">(.*?)<\/script>/.exec(html)?.[1] ?? '',
    )
    expect(keys).to.deep.equal(await trusted())
    expect(reply.headers.get('cache-control')).to.equal('no-cache')
    expect((await fetch(`${api.url}/conferir`, { method: 'POST' })).status).to.equal(405)
  })

  it('are refused for altered events [PROOF-41]', async () => {
    const { core } = api
    const changed = (change: (event: Envelope) => Partial<Envelope>): EventStore => ({
      ...core.store,
      async *pick(...asked) {
        for await (const event of core.store.pick(...asked)) yield { ...event, ...change(event) }
      },
    })
    const made = (store: EventStore) =>
      makeSaleReceipt({ ...core, store, reader: fullReader(core.pool, company.id) }, sales.plain.id).catch(
        (error) => error,
      )
    expect(await made(changed(() => ({ actor: 'user/1' })))).to.be.instanceOf(LedgerNotIntact)
    const other = await made(changed(({ data }) => ({ data: { ...data, total: '1.00' } })))
    expect(other).to.be.instanceOf(LedgerNotIntact)
    const missing: EventStore = { ...core.store, async *pick() {} }
    expect(await made(missing)).to.be.instanceOf(LedgerNotIntact)
  })
})

describe('checkpoint for a receipt', () => {
  it('is awaited for a limited time, then reported as unavailable [PROOF-41]', async () => {
    const never = { checkpointOf: () => new Promise<never>(() => {}) }
    expect(await covering(never, 7, 1, 1).catch((error: unknown) => error)).to.be.instanceOf(Unavailable)
  })
})

describe('receipts while checkpoints cannot be written', () => {
  const logged: unknown[] = []
  const { api, company } = useCompany({ log: (_message, error) => logged.push(error) })

  for (const [how, instead] of [
    ['the file is a folder', (file: string) => mkdir(file)],
    ['the folder is a file', (_file: string, folder: string) => writeFile(folder, '')],
  ] as const) {
    it(`responds 503 if a new checkpoint is needed; earlier receipts work: ${how} [PROOF-91]`, async () => {
      const { directory } = sealsOf(api.databaseUrl)
      const file = checkpointPath(directory, company.id)
      const broken = how.startsWith('the file') ? file : directory
      const counter = await openCounter(company)
      const before = await counter.sell()
      const receipt = (sale: Json) => company.get(`/sales/${sale.id}/receipt`)
      expect((await receipt(before)).status).to.equal(200)
      const owner = await panelUser(api, company)
      const sale = await counter.sell()
      await rename(broken, `${broken}.away`)
      await instead(file, directory)
      logged.length = 0
      for (const reply of [await receipt(sale), await company.get('/events/checkpoint?fresh=true')]) {
        expectProblem(reply, 503, 'unavailable')
        expect(reply.body.error.details).to.deep.equal({ reason: 'seals_unwritable' })
        expect(reply.headers.get('retry-after')).to.equal('60')
      }
      const page = await owner.get(`/painel/vendas/${sale.id}/recibo`)
      expect([page.status, textIn(page.html)].join()).to.match(/^503,.*assinaturas do registro de auditoria/)
      expect(logged.map(String)).to.have.length(3)
      for (const error of logged) expect(String(error)).to.include(`seals cannot be written to ${directory}: E`)
      expect((await receipt(before)).status).to.equal(200)
      await rm(broken, { recursive: true })
      await rename(`${broken}.away`, broken)
      expect((await receipt(sale)).status).to.equal(200)
    })
  }

  it('distinguish file errors, such as a full disk, from connection errors', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      errno: -28,
      code: 'ENOSPC',
      syscall: 'write',
    })
    expect(sealingError('/data/seals', full)).to.be.instanceOf(SealsUnwritable).and.have.property('cause', full)
    const cut = Object.assign(new Error('read ECONNRESET'), { errno: -104, code: 'ECONNRESET', syscall: 'read' })
    for (const other of [
      cut,
      new Unavailable('too many wait'),
      new SyntaxError('x'),
      new LedgerNotIntact(1, {} as never),
    ])
      expect(sealingError('/data/seals', other)).to.equal(other)
  })
})
