import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { companyOrigin } from '#integrity/note.ts'
import { type Receipt, toReceiptDigits } from '#integrity/sale-receipts.ts'
import { canonicalJson } from '#ledger/command.ts'
import { explore, TITLE } from '../support/random.ts'
import { ledgerOf, loadVerification, newKey, saleData, trustedOf } from '../support/receipts.ts'
import { expectShortTurns } from '../support/turns-taken.ts'

const { verifyReceipt, readGiven, canonicalJson: canonicalInBrowsers } = await loadVerification()

const KEY = newKey()
const OTHER_KEY = newKey()
const TRUSTED = trustedOf(OTHER_KEY, KEY)

const SALE = { type: 'SaleCompleted', subject: 'sale/981', data: saleData(981, 'Pão <b>& "queijo" 🧀') }
const CANCELLED = { type: 'SaleCancelled', subject: 'sale/981', data: { id: 981, reason: null, restock: [] } }
const OTHERS = Array.from({ length: 11 }, (_, n) => ({
  type: 'CategoryCreated',
  subject: `category/${n + 1}`,
  data: { id: n + 1 },
}))
const { prove } = ledgerOf(7, [...OTHERS, SALE, CANCELLED, ...OTHERS])
const [AT, CANCELLED_AT] = [11, 12]

const RECEIPT: Receipt = { version: 1, ...prove(AT, KEY) }

/** Verdict about a receipt on a page that trusts two keys of its installation. */
async function verdictOf(receipt: unknown, trusted = TRUSTED): Promise<string> {
  const verdict = await verifyReceipt(typeof receipt === 'string' ? receipt : JSON.stringify(receipt), trusted)
  return verdict.outcome === 'false' ? verdict.fault : verdict.outcome
}

const changed = (change: (text: string) => string): Receipt => {
  const proof = change(RECEIPT.proof)
  expect(proof).to.not.equal(RECEIPT.proof)
  return { ...RECEIPT, proof }
}

describe(`receipt verification in browsers (${TITLE})`, () => {
  it('accepts a receipt signed by any trusted key, also of a rewritten ledger [PROOF-43]', async () => {
    expect(await verdictOf(RECEIPT)).to.equal('proved')
    expect(await verdictOf({ ...RECEIPT, ...prove(AT, OTHER_KEY) })).to.equal('proved')
    const single = ledgerOf(3, [SALE])
    expect(await verdictOf({ version: 1, ...single.prove(0, KEY) })).to.equal('proved')
    const rewritten = prove(AT, KEY, companyOrigin(TRUSTED.installation, 7, 2))
    expect(await verdictOf({ ...RECEIPT, ...rewritten }), 'a rewritten ledger').to.equal('proved')
  })

  it('rejects unknown keys and other installations [PROOF-44]', async () => {
    const unknown = { ...RECEIPT, ...prove(AT, newKey()) }
    expect(await verdictOf(unknown)).to.equal('unknown_key')
    expect(await verdictOf(RECEIPT, { ...TRUSTED, keys: [] })).to.equal('unknown_key')
    const elsewhere = { ...TRUSTED, installation: '0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b12' }
    expect(await verdictOf(RECEIPT, elsewhere)).to.equal('unknown_key')
  })

  it('rejects another event, proof, log or signature, with the reason [PROOF-43]', async () => {
    const { event } = RECEIPT
    expect(await verdictOf({ ...RECEIPT, event: { ...event, data: saleData(981, 'Café') } })).to.equal('event_changed')
    expect(await verdictOf({ ...RECEIPT, event: { ...event, previous_hash: event.hash } })).to.equal('event_changed')
    expect(await verdictOf({ ...RECEIPT, event: { ...event, hash: event.previous_hash } })).to.equal('event_changed')
    expect(await verdictOf({ ...RECEIPT, proof: prove(CANCELLED_AT, KEY).proof })).to.equal('not_in_log')
    expect(await verdictOf(changed((text) => text.replace('index 11', 'index 10')))).to.equal('not_in_log')
    expect(await verdictOf(changed((text) => text.replace(/(index 11\n).+\n/, '$1')))).to.equal('not_in_log')
    expect(await verdictOf(changed((text) => text.replace('\n24\n', '\n25\n')))).to.equal('wrong_signature')
    expect(await verdictOf(changed((text) => text.replaceAll('company-7', 'company-8')))).to.equal('other_log')
    const altered = changed((text) =>
      text.replace(/.{8}\n$/, (end) => (end.startsWith('A') ? `B${end.slice(1)}` : `A${end.slice(1)}`)),
    )
    expect(await verdictOf(altered)).to.equal('wrong_signature')
    expect(await verdictOf({ version: 1, ...prove(AT - 1, KEY) }), 'an event that is no sale').to.equal('no_sale')
  })

  it('rejects a receipt if a trusted key has also signed another checkpoint [PROOF-43]', async () => {
    const line = prove(AT, OTHER_KEY).proof.split('\n').at(-2) as string
    const origin = companyOrigin(TRUSTED.installation, 7)
    expect(await verdictOf(changed((text) => `${text}${line}\n`))).to.equal('proved')
    const other = ledgerOf(7, [SALE]).prove(0, OTHER_KEY).proof.split('\n').at(-2) as string
    expect(other).to.contain(origin)
    expect(await verdictOf(changed((text) => `${text}${other}\n`))).to.equal('wrong_signature')
  })

  it('detects truncated receipts and other texts [PROOF-43]', async () => {
    const whole = JSON.stringify(RECEIPT)
    const deep = whole.replace('"data":{', `"data":{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)},`)
    const texts = [
      '',
      '{}',
      'null',
      '[]',
      '{"version":1}',
      whole.slice(0, -1),
      whole.replace('"version":1', '"version":2'),
      deep,
    ]
    for (const text of texts) expect(await verdictOf(text), text.slice(0, 50)).to.equal('unreadable')
    for (const cut of [10, 40, 200]) {
      const receipt = { ...RECEIPT, proof: RECEIPT.proof.slice(0, -cut) }
      // A cut within the line of the signature leaves a signature, but a wrong one.
      expect(await verdictOf(receipt), `${cut}`).to.be.oneOf(['unreadable', 'wrong_signature'])
    }
  })

  it('accepts a cancellation only with a proof for the same sale [PROOF-42]', async () => {
    const cancellation = prove(CANCELLED_AT, KEY)
    expect(await verdictOf({ ...RECEIPT, cancellation })).to.equal('proved')
    expect(await verdictOf({ ...RECEIPT, cancellation: prove(AT, KEY) })).to.equal('other_sale')
    expect(await verdictOf({ ...RECEIPT, cancellation: prove(CANCELLED_AT, newKey()) })).to.equal('unknown_key')
    expect(await verdictOf({ ...RECEIPT, cancellation: { ...cancellation, proof: '' } })).to.equal('unreadable')
    const elsewhere = ledgerOf(8, [SALE, CANCELLED]).prove(1, KEY)
    expect(await verdictOf({ ...RECEIPT, cancellation: elsewhere })).to.equal('other_sale')
  })

  it('reports a browser without signature support, and still rejects invalid receipts [PROOF-45]', async () => {
    const { importKey } = crypto.subtle
    crypto.subtle.importKey = () => Promise.reject(new DOMException('unrecognized algorithm', 'NotSupportedError'))
    try {
      expect(await verdictOf(RECEIPT)).to.equal('unchecked')
      const { event } = RECEIPT
      expect(await verdictOf({ ...RECEIPT, event: { ...event, revision: 1 } })).to.equal('event_changed')
    } finally {
      crypto.subtle.importKey = importKey
    }
  })

  it('reads receipts from text and from the digits of a code, alone or in an address [PROOF-46]', async () => {
    const text = JSON.stringify(RECEIPT)
    const digits = toReceiptDigits(RECEIPT) as string
    for (const given of [text, ` ${text}\n`, digits, `#${digits}`, `https://loja.example/conferir#${digits}`])
      expect(await readGiven(given)).to.equal(text)
    const bomb = BigInt(`0x1${Buffer.alloc(2_000).toString('hex')}`).toString()
    // Cut digits give nothing, or a text without its end.
    for (const given of ['', 'recibo', '#', '12', digits.slice(0, -9), `${digits}x`, bomb, '9'.repeat(8_000)])
      expect(await readGiven(given), given.slice(0, 20)).to.be.oneOf(['', text.slice(0, -1)])
  })

  it('makes no code for a receipt beyond its capacity, without blocking [PROOF-46, HTTP-42]', async () => {
    const description = randomBytes(150_000).toString('base64')
    const long = { ...RECEIPT, event: { ...RECEIPT.event, data: { ...RECEIPT.event.data, description } } }
    await expectShortTurns(100, async () => expect(toReceiptDigits(long)).to.equal(null))
  })

  it('hashes like the service [PROOF-43]', () =>
    explore(
      fc.property(fc.json(), (json) => {
        const value = { value: JSON.parse(json) }
        expect(canonicalInBrowsers(value)).to.equal(canonicalJson(value))
      }),
      200,
    ))
})
