import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { killedAfter, tillbook, tillbookWith } from '../cli/tillbook.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { DEPTH } from '../support/random.ts'
import { administer } from '../support/server.ts'

/** Moves, each with every command killed once at a random moment. */
const MOVES = 2 * DEPTH
/** Approximate duration of a small command, mostly program start. */
const LONGEST_MS = 3_000
const SALES = 30

describe('killed move between cells', () => {
  const databases = [useDatabase(), useDatabase()]
  const folder = mkdtempSync(join(tmpdir(), 'tillbook-cells-'))
  let envs: Readonly<Record<string, string>>[] = []
  let api: TestApi
  let company: TestCompany

  before('prepare the second cell', async () => {
    envs = databases.map(({ url, ownerUrl }, n) => ({
      DATABASE_URL: url,
      DATABASE_OWNER_URL: ownerUrl,
      DATA_DIR: join(folder, `cell-${n}`),
      SEAL_KEY_FILE: join(folder, 'seal-key.pem'),
    }))
    const [first, second] = databases as [(typeof databases)[0], (typeof databases)[0]]
    api = await startApi(first.url)
    company = await api.company()
    const cash = await company.paymentType('cash')
    for (let n = 0; n < SALES; n += 1)
      await company.post('/sales', {
        items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
        payments: [{ payment_type_id: cash, amount: '5.00' }],
      })
    await done(0, 'ledger', 'seal', '--all')
    // The template of all databases of a run has been started once.
    await administer(second.ownerUrl, (client) =>
      client.query('delete from ops.installation_secrets; update ops.installation set id = gen_random_uuid()'),
    )
    await done(1, 'database', 'prepare', '--like', first.url)
  })
  after('remove them', async () => {
    await api.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function done(cell: number, ...words: string[]) {
    const { code, stdout, stderr } = await tillbook(envs[cell] ?? {}, ...words, '--json')
    if (code !== 0)
      throw Object.assign(new Error(stderr), { problem: JSON.parse(stderr.trim().split('\n').at(-1) ?? '{}').error })
    return JSON.parse(stdout)
  }

  async function killedOnce(cell: number, ...words: string[]) {
    await killedAfter(envs[cell] ?? {}, 300 + Math.round(Math.random() * LONGEST_MS), ...words)
    return done(cell, ...words)
  }

  for (let n = 0; n < MOVES; n += 1)
    it(`loses and doubles nothing, to cell ${(n + 1) % 2} [CELL-2, CELL-10]`, async () => {
      const [from, to] = n % 2 === 0 ? [0, 1] : [1, 0]
      const [file, note] = [join(folder, `${n}.jsonl`), join(folder, `${n}.note`)]
      const id = String(company.id)
      await killedOnce(from, 'company', 'export', id, '--to', file)
      // The killed run may have committed: the refusal then tells the note.
      const imported = await killedOnce(to, 'company', 'import', '--from', file).catch(
        ({ problem }) => problem.details as { readonly note: string },
      )
      writeFileSync(note, imported.note)
      await killedOnce(from, 'company', 'remove', id, '--note', note)
      const lines = readFileSync(file, 'utf8').split('\n')
      expect(JSON.parse(lines.at(-2) ?? '')).to.include({ count: lines.length - 2 })
      expect(statSync(file).mode & 0o777).to.equal(0o600)
      expect(await done(to, 'ledger', 'verify', '--company', id)).to.include({ valid: true, checked: SALES + 3 })
      expect(await done(to, 'projections', 'verify', id)).to.deep.include({ company_id: company.id })
      const lists = await Promise.all([done(from, 'company', 'list'), done(to, 'company', 'list')])
      expect(lists.map((list) => list.length)).to.deep.equal([0, 1])
    })

  it('goes through standard output and input as through files [CELL-2]', async () => {
    const id = String(company.id)
    const exported = await tillbook(envs[MOVES % 2] ?? {}, 'company', 'export', id)
    expect(exported.code, exported.stderr).to.equal(0)
    const imported = await tillbookWith(exported.stdout, envs[(MOVES + 1) % 2] ?? {}, 'company', 'import', '--json')
    expect(imported.code, imported.stderr).to.equal(0)
    expect(JSON.parse(imported.stdout)).to.deep.include({ company_id: company.id, events: SALES + 3, differences: [] })
  })
})
