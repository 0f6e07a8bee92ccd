import { expect } from 'chai'
import type { TestCompany } from '../../../test/support/api.ts'
import { useApi } from '../../../test/support/use-api.ts'
import { createClient, type LedgerEvent, TillbookError } from '../src/index.ts'

/** A thousand with TEST_DEPTH=4. */
const CUTS = 250 * Number(process.env.TEST_DEPTH ?? 1)

/** Cuts a stream after some bytes. */
function cutAfter(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.error(new TypeError('terminated'))
    },
  })
}

describe('events of the client', () => {
  const api = useApi()
  let company: TestCompany
  beforeEach(async () => {
    company = await api.company()
  })

  it(`are returned once and in order, over ${CUTS} cuts at any byte [KIT-1]`, async () => {
    let cuts = 0
    let isWriting = true
    const writing = (async () => {
      for (let n = 0; cuts < CUTS; n++) await company.post('/catalog/categories', { name: `Categoria ${n}` })
      isWriting = false
    })()
    const client = createClient({
      baseUrl: api.url,
      key: company.key,
      retries: { firstPauseMs: 1, longestPauseMs: 2 },
      async fetch(request) {
        const response = await fetch(request)
        if (!response.body || cuts >= CUTS) return response
        cuts += 1
        return new Response(response.body.pipeThrough(cutAfter(20 + Math.random() * 1_500)), response)
      },
    })
    const end = new AbortController()
    const heard: LedgerEvent[] = []
    for await (const event of client.events({ signal: end.signal })) {
      heard.push(event)
      if (isWriting) continue
      const { body } = await company.get(`/events?after=${event.revision}&limit=1`)
      if (body.data.length === 0) break
    }
    await writing
    expect(cuts).to.equal(CUTS)
    expect(heard.map(({ revision }) => revision)).to.deep.equal(heard.map((_, n) => n))
    expect(heard.at(-1)?.type).to.equal('CategoryCreated')
  })

  it('start after a revision, and have the requested types only', async () => {
    await company.post('/catalog/categories', { name: 'Bebidas' })
    await company.post('/customers', { name: 'Ana', person_type: 'PF' })
    const client = createClient({ baseUrl: api.url, key: company.key })
    const types: string[] = []
    for await (const { type, revision } of client.events({ after: 0, types: ['CategoryCreated', 'CustomerCreated'] })) {
      types.push(type)
      expect(revision).to.be.greaterThan(0)
      if (types.length === 2) break
    }
    expect(types).to.deep.equal(['CategoryCreated', 'CustomerCreated'])
  })

  it('throw the refusal of the stream', async () => {
    const client = createClient({ baseUrl: api.url, key: 'tb_live_none' })
    const error = await client
      .events()
      .next()
      .catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(TillbookError)
    expect(error).to.include({ status: 401, code: 'invalid_token' })
  })
})
