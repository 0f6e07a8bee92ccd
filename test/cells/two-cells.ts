import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before } from 'mocha'
import { v7 as uuidv7 } from 'uuid'
import { openKeyRing } from '#integrity/checkpoint-keys.ts'
import type { CellParts } from '#integrity/company-file.ts'
import { type ImportReport, importCompany } from '#integrity/import-company.ts'
import { type ExportReport, exportCompany, prepareLike, removeCompany, reopenCompany } from '#integrity/move-company.ts'
import { createPool } from '#postgres/pool.ts'
import { type Reply, send, startApi, type TestApi, type TestApiOptions, type TestCompany } from '../support/api.ts'
import { ownerUrlOf, useDatabase } from '../support/database.ts'
import { masterKeys } from '../support/master-key.ts'
import { sealsOf } from '../support/seals.ts'
import { until } from '../support/wait.ts'

/** An installation of the test, and what its command line does. */
export interface TestCell {
  readonly api: TestApi
  readonly cell: CellParts
  exportTo(path: string, companyId: number): Promise<ExportReport>
  importFrom(path: string, allowsSameCnpj?: boolean): Promise<ImportReport>
  remove(companyId: number, note: string): Promise<void>
  reopen(companyId: number): Promise<void>
}

export interface TwoCells {
  readonly north: TestCell
  readonly south: TestCell
  /** Path of a file that does not exist yet. */
  path(): string
}

const cellOf = ({ core, databaseUrl }: TestApi): CellParts => ({
  ...core,
  databaseUrl,
  masterKey: masterKeys.current().id,
  sealing: core.sealing as NonNullable<typeof core.sealing>,
})

const testCell = (api: TestApi): TestCell => {
  const cell = cellOf(api)
  return {
    api,
    cell,
    async exportTo(path, companyId) {
      const parts: string[] = []
      const write = async (text: string) => void parts.push(text)
      const report = await exportCompany(cell, companyId, { newId: uuidv7, write, onEvents: () => {} })
      await writeFile(path, parts.join(''))
      return report
    },
    importFrom: (path, allowsSameCnpj = true) =>
      importCompany(cell, path, { allowsSameCnpj, now: () => new Date().toISOString(), onEvents: () => {} }),
    remove: (companyId, note) => removeCompany(cell, companyId, note, () => {}),
    reopen: (companyId) => reopenCompany(cell, companyId, 'o outro lado não a importou'),
  }
}

/** Makes the database of `url` a cell beside the one of `likeUrl`, with the same key of checkpoints. */
export async function prepareBeside(url: string, likeUrl: string): Promise<void> {
  const [theirs, ours] = [sealsOf(likeUrl).keyFile, sealsOf(url).keyFile]
  await mkdir(dirname(ours), { recursive: true })
  await copyFile(theirs, ours)
  const pool = createPool(url, { max: 1 })
  try {
    // The template of all databases of a run has been started once.
    await pool.query('delete from ops.installation_secrets; update ops.installation set id = gen_random_uuid()')
    await prepareLike(pool, { likeUrl, masterKeys, keyFile: ours })
  } finally {
    await pool.end()
  }
}

/** Two installations on one server, the second prepared like the first. */
export function useTwoCells(options: { readonly [at in 'north' | 'south']?: TestApiOptions } = {}): TwoCells {
  const [here, there] = [useDatabase(), useDatabase()]
  const opened: TestApi[] = []
  const cells: TestCell[] = []
  let folder = ''

  before('start two installations', async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-cells-'))
    const north = await startApi(here.url, { ownerUrl: ownerUrlOf(here.url), ...options.north })
    opened.push(north)
    await openKeyRing(cellOf(north).sealing)
    await prepareBeside(there.url, here.url)
    const south = await startApi(there.url, { ownerUrl: ownerUrlOf(there.url), ...options.south })
    opened.push(south)
    cells.push(testCell(north), testCell(south))
  })
  after('close them', async () => {
    for (const api of opened) await api.close()
    await rm(folder, { recursive: true, force: true })
  })

  const at = (place: number) => cells[place] as TestCell
  return {
    get north() {
      return at(0)
    },
    get south() {
      return at(1)
    },
    path: () => join(folder, `${randomUUID()}.jsonl`),
  }
}

/** A request with the company's key, to any installation. */
export const callAt = (
  { api }: TestCell,
  { key }: Pick<TestCompany, 'key'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) => send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}`, ...headers })

/** Requests are logged up to a second after their answers: those of a company that is removed meanwhile would stay. */
export const untilLogged = ({ cell }: TestCell, { headers }: Pick<Reply, 'headers'>) =>
  until(async () => {
    const { rowCount } = await cell.pool.query('select from ops.request_log where id::text = $1', [
      headers.get('x-request-id'),
    ])
    return rowCount === 1
  })

/** Changes one line of a file, and returns the path of the copy. */
export async function altered(path: string, change: (lines: string[]) => string[]): Promise<string> {
  const copy = `${path}.altered`
  const lines = (await readFile(path, 'utf8')).split('\n')
  await writeFile(copy, change(lines).join('\n'))
  return copy
}
