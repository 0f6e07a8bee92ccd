import { expect } from 'chai'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { type Writer, writeRequest } from '#ledger/write/writer.ts'
import { useDatabase } from '../support/database.ts'
import { purgeTables } from '../support/purge.ts'
import { addition } from './counters.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const ONE = { id: 1, by: 1 }

describe('writer, stored answers', () => {
  const database = useDatabase()
  let harness: Harness
  allowNoStrayRejections()

  before(async () => {
    harness = await openHarness(database.url, null, [1, 2])
  })
  beforeEach(() => empty(harness))
  after(() => harness?.close())

  const run = async (key: string, company = 1): Promise<Answer> => {
    const answer = await writeRequest(harness.writer, addition(company, ONE, key))
    if (isRefusal(answer)) throw new Error(answer.refused)
    return answer
  }
  const age = (key: string, interval: string): Promise<unknown> =>
    harness.pool.query('update idempotent_answers set created_at = created_at - $2::interval where key = $1', [
      ` ${key}`,
      interval,
    ])

  for (const processes of [1, 2]) {
    it(`20 concurrent requests with one key get one answer, in ${processes === 1 ? 'one process' : 'two processes'} [IDEM-6]`, async () => {
      const writers = processes === 1 ? [harness.writer] : [harness.writer, harness.another()]
      const requests = Array.from({ length: 20 }, (_, n) =>
        writeRequest(writers[n % processes] as Writer, addition(1, ONE, 'key')),
      )
      const answers = (await Promise.all(requests)) as Answer[]
      expect(new Set(answers.map(({ outcome, json }) => `${outcome} ${json}`)).size).to.equal(1)
      expect(answers.filter(({ replayed }) => replayed)).to.have.length(19)
      const [event] = await assertLedger(harness, 1, 1)
      expect(event?.idempotency).to.deep.equal({ key: 'key', request_hash: 'same', status: 200 })
    })
  }

  it('refuse another request with the same key, in the same group and later [IDEM-3]', async () => {
    const [first, other] = await Promise.all([
      writeRequest(harness.writer, addition(1, ONE, 'key', 'one body')),
      writeRequest(harness.writer, addition(1, ONE, 'key', 'another body')),
    ])
    expect(first).to.include({ outcome: 'updated' })
    expect(other).to.deep.equal({ refused: 'idempotency_key_reuse' })
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'another body'))).to.deep.equal(other)
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'one body'))).to.include({ replayed: true })
    await assertLedger(harness, 1, 1)
  })

  it('belong to one company, even if others use the same key [IDEM-5]', async () => {
    const answers = await Promise.all([run('key', 1), run('key', 2)])
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, false])
    await assertLedger(harness, 1, 1)
    await assertLedger(harness, 2, 1)
  })

  it('show the record as originally answered, not its current state [IDEM-2]', async () => {
    const first = await run('first')
    await run('second')
    expect(await run('first')).to.deep.equal({ ...first, results: [], replayed: true, revision: 1 })
  })

  it('are kept for 24 hours; then a request is decided again [IDEM-4]', async () => {
    const first = await run('key')
    await age('key', '23 hours 59 minutes')
    expect(await run('key')).to.include({ replayed: true, json: first.json })
    await age('key', '2 minutes')
    const anew = await run('key')
    expect(anew).to.include({ replayed: false })
    expect((anew.record as { value: number }).value).to.equal(2)
    expect(await run('key')).to.include({ replayed: true, json: anew.json })
    await assertLedger(harness, 1, 2)
  })

  it('release their key for another request once they have expired', async () => {
    await run('key')
    await age('key', '25 hours')
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'another body'))).to.include({
      outcome: 'updated',
      replayed: false,
    })
  })

  it('are all purged after they expire, and no others [OPS-22]', async () => {
    await run('fresh')
    await harness.pool.query(
      `insert into idempotent_answers (company_id, key, request_hash, outcome, body, created_at)
       select 2, 'old-' || n, 'hash', 'updated', '{}', clock_timestamp() - interval '24 hours 1 second' from generate_series(1, 5001) n`,
    )
    expect(await purgeTables(harness.pool, 'idempotent_answers')).to.equal(5001)
    expect(await purgeTables(harness.pool, 'idempotent_answers')).to.equal(0)
    const { rows } = await harness.pool.query('select key from idempotent_answers')
    expect(rows).to.deep.equal([{ key: ' fresh' }])
  })
})
