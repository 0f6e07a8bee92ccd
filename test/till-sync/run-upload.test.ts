import { expect } from 'chai'
import { refuse } from '#domain/refusals.ts'
import { command, type Invocation, invoke } from '#ledger/command.ts'
import { Unavailable } from '#lib/errors.ts'
import { runUpload, type Uploading } from '#till-sync/uploads.ts'
import { answeringWriter } from '../support/answering-writer.ts'

interface Element {
  readonly id: number
  readonly fault?: unknown
}

const simple = command<Element>({ needs: () => [], decide: () => refuse('not_found') })
const looking = command<Element>({ ...simple, lookup: () => ({ name: 'l', text: '', values: [] }) })

/** A writer that commits each request whole or fails it, and notes what it has committed. */
function createUploading() {
  const recorded: number[] = []
  const logged: string[] = []
  const writer = answeringWriter(async ({ invocations }) => {
    const elements = invocations.map(({ input }) => input as Element)
    const faulty = elements.find(({ fault }) => fault !== undefined)
    if (faulty) throw faulty.fault
    recorded.push(...elements.map(({ id }) => id))
    const results = elements.map(({ id }) => ({ outcome: 'created' as const, subject: `sale/${id}`, json: '' }))
    return { outcome: 'updated', json: '', record: null, results, replayed: false, revision: 0 }
  })
  const session = { companyId: 1, userId: 1, email: 'a@b.example', tokenHash: Buffer.alloc(32) }
  const response = { closed: false, locals: { requestId: 'r' } }
  const log = (message: string) => void logged.push(message)
  return { recorded, logged, uploading: { writer, log, session, response } as unknown as Uploading }
}

const read = (element: unknown): Invocation => {
  const { id } = element as Element
  if (id === 7) throw new TypeError('a bug')
  return invoke(id % 5 === 0 ? looking : simple, element as Element)
}

const shown = (results: readonly object[]) =>
  results.map((result) => ('refused' in result ? result.refused : (result as { subject: string }).subject))

describe('an upload of a till', () => {
  it('records the others where some meet a fault, each once and in order [UP-760]', async () => {
    const { recorded, logged, uploading } = createUploading()
    const faulty = [0, 3, 10, 11, 39]
    const sent = Array.from({ length: 40 }, (_, id) => (faulty.includes(id) ? { id, fault: new Error('bug') } : { id }))
    const results = await runUpload(uploading, sent, read)
    expect(shown(results)).to.deep.equal(
      sent.map(({ id }) => (id === 7 || faulty.includes(id) ? 'internal_error' : `sale/${id}`)),
    )
    expect(recorded).to.deep.equal(sent.map(({ id }) => id).filter((id) => id !== 7 && !faulty.includes(id)))
    expect(logged).to.have.length(faulty.length + 1)
  })

  it('fails as a whole while the service cannot record anything', async () => {
    const ends = [new Unavailable('the database cannot be reached'), Object.assign(new Error(), { code: '53100' })]
    for (const fault of ends) {
      const { uploading } = createUploading()
      const failure = await runUpload(uploading, [{ id: 1, fault }], read).catch((error: unknown) => error)
      expect(failure).to.equal(fault)
    }
  })

  it('yields to other requests while its elements are checked', async () => {
    let [turns, looking] = [0, true]
    const take = () => {
      turns += 1
      if (looking) setImmediate(take)
    }
    setImmediate(take)
    const until = (ms: number) => {
      while (performance.now() < ms);
    }
    await runUpload(createUploading().uploading, Array.from({ length: 30 }), () => {
      until(performance.now() + 2)
      return refuse('not_found')
    })
    looking = false
    expect(turns).to.be.at.least(3)
  })
})
