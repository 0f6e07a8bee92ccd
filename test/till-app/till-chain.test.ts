import { createHash, createPublicKey, verify } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import { canonical, createTillKey, NO_PREDECESSOR, publicJwk } from '../../till/chain.ts'
import { type Journal, readLines, toLines } from '../../till/journal.ts'
import { NotDurable, Recorder, type Recording } from '../../till/recorder.ts'
import { type Recorded, recordKey, type SaleBody } from '../../till/records.ts'
import { ServiceError } from '../../till/service-calls.ts'
import type { Storage, Values } from '../../till/stored.ts'
import { portionsOf, sendPortion } from '../../till/upload-queue.ts'

const DEVICE = { id: 5, number: 3, name: 'Caixa', companyId: 1 }

function saleOf(offline_id: string, lines = 1): SaleBody {
  const items = Array.from({ length: lines }, (_, line) => ({ product_id: line + 1, quantity: 1, price: 2, total: 2 }))
  return {
    offline_id,
    status: 'completed',
    created_at: '2026-11-29T12:00:00.000Z',
    items,
    payments: [{ payment_type_id: 1, amount: 2 * lines, status: 'completed' }],
    total: 2 * lines,
    amount_received: 2 * lines,
    change: 0,
    clock_offset_ms: -40,
  }
}

const recording = (offline_id: string, lines = 1): Recording => ({
  kind: 'sales',
  body: saleOf(offline_id, lines),
  names: Array.from({ length: lines }, (_, line) => `Produto número ${line + 1} com nome comprido`),
  customer: '',
})

/** The two copies of a device; each can be full. */
class Copies {
  stored: Recorded[] = []
  file = ''
  isDatabaseFull = false
  isFileFull = false
  values: Partial<Values> = {}
  readonly #full = async () => Promise.reject(new Error('QuotaExceededError'))

  readonly storage = {
    records: async () => this.stored,
    putRecords: async (records: readonly Recorded[]) => {
      if (this.isDatabaseFull) return this.#full()
      const keys = new Set(records.map(({ key }) => key))
      this.stored = [...this.stored.filter(({ key }) => !keys.has(key)), ...records]
    },
    deleteRecords: async () => {},
    get: async (name: keyof Values) => this.values[name],
    set: async (values: Partial<Values>) => void Object.assign(this.values, values),
  } as unknown as Storage

  readonly journal: Journal = {
    read: async () => readLines(this.file),
    append: async (records) => {
      if (this.isFileFull) return this.#full()
      this.file += toLines(records)
    },
    clear: async () => {
      this.file = ''
    },
  }
}

const keyPair = createTillKey()
const open = async ({ storage, journal }: Copies) =>
  Recorder.open({ storage, journal, device: DEVICE, key: await keyPair })

/** The package exports its function as a module of CommonJS. */
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('the chain of the till [TILL-1116]', () => {
  it('writes RFC 8785 forms as the service does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(canonical(JSON.parse(JSON.stringify(value)))).to.equal(canonicalize(JSON.parse(JSON.stringify(value))))
      }),
    )
  })

  it('numbers, links and signs what is recorded, whatever the order of the calls', async () => {
    const recorder = await open(new Copies())
    await Promise.all(['a', 'b', 'c'].map((id) => recorder.record([recording(id)], 7)))
    const key = createPublicKey({ key: (await publicJwk(await keyPair)) as never, format: 'jwk' })
    let previous = NO_PREDECESSOR
    for (const [place, { element, hash }] of recorder.records.entries()) {
      expect(element.till).to.include({ id: 5, number: place + 1, previous })
      const { signature, ...link } = element.till
      const signed = Buffer.from(String(canonicalize({ ...element, till: link })))
      const raw = Buffer.from(signature, 'base64url')
      expect(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, raw)).to.equal(true)
      previous = sha256(String(canonicalize(element)))
      expect(hash).to.equal(previous)
    }
  })
})

describe('the two copies of what a till records [TILL-1116]', () => {
  for (const copy of ['isDatabaseFull', 'isFileFull'] as const)
    it(`finds all again where ${copy === 'isFileFull' ? 'the file' : 'the database'} could not be written`, async () => {
      const copies = new Copies()
      const before = await open(copies)
      await before.record([recording('a')], 7)
      copies[copy] = true
      await before.record([recording('b')], 7)
      expect(before.missingCopy).to.equal(copy === 'isFileFull' ? 'arquivo' : 'banco')
      copies[copy] = false
      const after = await open(copies)
      expect(after.records.map(({ element }) => element.offline_id)).to.deep.equal(['a', 'b'])
      await after.record([recording('c')], 7)
      expect(after.lastNumber).to.equal(3)
    })

  it('goes on after the last number of the service when its data were copied back [TILL-1180]', async () => {
    const copies = new Copies()
    const before = await open(copies)
    await before.record([recording('a')], 7)
    await before.continueAfter(3, 'c'.repeat(64))
    await before.continueAfter(2, 'b'.repeat(64))
    const after = await open(copies)
    expect(after.lastNumber).to.equal(3)
    const [next] = await after.record([recording('d')], 7)
    expect(next?.element.till).to.include({ number: 4, previous: 'c'.repeat(64) })
    await after.continueAfter(9, null)
    expect((await after.record([recording('e')], 7))[0]?.element.till).to.include({ number: 10, previous: next?.hash })
  })

  it('records nothing, and uses no number, where neither can be written', async () => {
    const copies = new Copies()
    const recorder = await open(copies)
    copies.isDatabaseFull = true
    copies.isFileFull = true
    const failed = await recorder.record([recording('a')], 7).catch((error: unknown) => error)
    expect(failed).to.be.instanceOf(NotDurable)
    copies.isDatabaseFull = false
    await recorder.record([recording('b')], 7)
    expect(recorder.records.map(({ element }) => element.till.number)).to.deep.equal([1])
  })

  it('reads a file whose last line a power cut has cut off, and goes on after it', async () => {
    const copies = new Copies()
    await (await open(copies)).record([recording('a'), recording('b')], 7)
    copies.file = copies.file.slice(0, -40)
    copies.stored = []
    const recorder = await open(copies)
    expect(recorder.lastNumber).to.equal(1)
    await recorder.record([recording('c')], 7)
    expect(readLines(copies.file).map(({ element }) => element.offline_id)).to.deep.equal(['a', 'c'])
  })

  it('empties the file when the service has everything, and keeps the end of the chain', async () => {
    const copies = new Copies()
    const recorder = await open(copies)
    const [sent, waiting] = await recorder.record([recording('a'), recording('b')], 7)
    await recorder.note([{ key: sent?.key ?? '', state: 'sent', note: '' }])
    expect(copies.file).not.to.equal('')
    await recorder.note([{ key: waiting?.key ?? '', state: 'sent', note: '' }])
    expect(copies.file).to.equal('')
    expect((await open(copies)).lastNumber).to.equal(2)
  })
})

describe('the queue of the till [TILL-1117]', () => {
  const records = Array.from({ length: 7 }, (_, at): Recorded => {
    const till = { id: 5, number: at + 1, previous: NO_PREDECESSOR, signature: '' }
    const element = { ...saleOf(`venda-${at + 1}`), till }
    const base = { names: [], customer: '', userId: 7, state: 'waiting', note: '', hash: '' } as const
    return { ...base, key: recordKey(till), kind: at === 3 ? 'cash' : 'sales', element }
  })

  it('sends portions of one kind in the order of the chain', () => {
    const numbers = portionsOf(records).map((portion) => portion.map((each) => (each as Recorded).element.till.number))
    expect(numbers).to.deep.equal([[1, 2, 3], [4], [5, 6, 7]])
  })

  for (const [status, state] of [
    [422, 'refused'],
    [500, 'later'],
    [409, 'later'],
  ] as const)
    it(`passes an element that makes the service answer ${status}`, async () => {
      const sent: string[] = []
      const outcomes = await sendPortion(records, async (_kind, elements) => {
        const ids = elements.map((element) => (element as SaleBody).offline_id)
        if (ids.includes('venda-5')) throw new ServiceError(status, 'não', null)
        sent.push(...ids)
        return { results: ids.map(() => ({ status: 'created' })) }
      })
      expect(outcomes.filter(({ state }) => state === 'sent')).to.have.lengthOf(6)
      expect(outcomes.find(({ key }) => key === records[4]?.key)?.state).to.equal(state)
      expect(sent).to.deep.equal([1, 2, 3, 4, 6, 7].map((number) => `venda-${number}`))
    })

  for (const status of [0, 401, 429, 503])
    it(`keeps everything where the service answers ${status || 'nothing'}`, async () => {
      let calls = 0
      const failed = await sendPortion(records, async () => {
        calls += 1
        throw new ServiceError(status, 'não', 7)
      }).catch((error: unknown) => error)
      expect(failed).to.include({ status, retryAfterSeconds: 7 })
      expect(calls).to.equal(1)
    })

  it('reads the result of each element', async () => {
    const results = [
      { status: 'created' },
      { status: 'duplicate' },
      { status: 'cancelled' },
      { status: 'resolved' },
      {
        status: 'error',
        code: 'validation_failed',
        message: 'A venda tem dados inválidos.',
        errors: { total: ['não confere'] },
      },
      { status: 'error', code: 'internal_error' },
    ]
    const outcomes = await sendPortion(records, async () => ({ results }))
    const states = ['sent', 'sent', 'sent', 'sent', 'refused', 'later', 'later']
    expect(outcomes.map(({ state }) => state)).to.deep.equal(states)
    expect(outcomes[4]?.note).to.equal('A venda tem dados inválidos. total: não confere')
  })
})
