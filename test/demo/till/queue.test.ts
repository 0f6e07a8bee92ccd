import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type OfflineSale, openQueue } from '#demo/till/demo-sales.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

const sale = (offline_id: string) => offlineSaleOf({ offline_id }) as OfflineSale

describe('queue of the reference till', () => {
  let directory: string
  let file: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-till-'))
    file = join(directory, 'queue.json')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('returns sales in order until they are removed', async () => {
    const queue = await openQueue(null)
    for (const id of ['a', 'b', 'c']) await queue.add(sale(id))
    expect(queue.first(2).map(({ offline_id }) => offline_id)).to.deep.equal(['a', 'b'])
    await queue.remove(new Set(['a', 'x']))
    expect(queue.first(9).map(({ offline_id }) => offline_id)).to.deep.equal(['b', 'c'])
    expect(queue.size()).to.equal(2)
  })

  it('loads the file of another run, and leaves no temporary files', async () => {
    const before = await openQueue(file)
    for (const id of ['a', 'b']) await before.add(sale(id))
    await before.remove(new Set(['a']))
    expect((await openQueue(file)).first(9)).to.deep.equal([sale('b')])
    expect(await readdir(directory)).to.deep.equal(['queue.json'])
  })

  it('refuses an invalid file instead of overwriting it', async () => {
    await writeFile(file, 'oops')
    const error = await openQueue(file).catch((reason: Error) => reason.message)
    expect(error).to.equal(`${file} is not a queue of a till`)
  })
})
