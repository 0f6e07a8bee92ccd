import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { COMMANDS, type Name } from '#cli/commands.ts'
import { load } from '#cli/perform.ts'
import { useDatabase } from '../support/database.ts'
import { tillbook } from './tillbook.ts'

const ROOT = join(fileURLToPath(import.meta.url), '../../..')

/** Source files of a compiled file; of a package without source map, the file itself. */
async function sourcesOf(url: string): Promise<string[]> {
  const path = fileURLToPath(url)
  if (!path.startsWith(join(ROOT, 'dist'))) return [path]
  const { sources } = JSON.parse(await readFile(`${path}.map`, 'utf8')) as { sources: string[] }
  return sources
    .map((source) => relative(ROOT, join(path, '..', source)))
    .map((source) => source.replace(/^node_modules/, '/node_modules'))
}

describe('modules loaded by the command line', () => {
  const database = useDatabase()
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-loading-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  /** Product files such as `cli/main`, and packages, loaded by a command line. */
  async function loadedBy(env: Readonly<Record<string, string>>, ...words: string[]): Promise<string[]> {
    await tillbook({ NODE_V8_COVERAGE: directory, DATA_DIR: directory, ...env }, ...words)
    const [report] = (await readdir(directory)).filter((name) => name.startsWith('coverage-'))
    const { result } = JSON.parse(await readFile(join(directory, report ?? ''), 'utf8')) as {
      result: { url: string }[]
    }
    const loaded = result.map(({ url }) => url).filter((url) => url.startsWith('file:'))
    const sources = await Promise.all(loaded.map(sourcesOf))
    const names = sources.flat().map((path) => {
      const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? /^(?:src\/)?(.+)\.tsx?$/.exec(path) ?? []
      return name ?? null
    })
    return [...new Set(names)].filter((name) => name !== null).sort()
  }

  it('include the code of every verb', async () => {
    for (const name of Object.keys(COMMANDS) as Name[]) expect(await load(name)).to.have.property('run')
  })

  it('for a list of records include neither events nor writers', async () => {
    const loaded = await loadedBy({ DATABASE_URL: database.url }, 'company', 'list')
    expect(loaded).to.include.members(['cli/list-verbs', 'service/command-reader', 'pg'])
    expect(loaded.filter((name) => /^(commands|events|ledger\/write|service\/core)(\/|$)/.test(name))).to.deep.equal([])
  })

  for (const words of [['--help'], ['ledger', '--help'], ['company', 'destroy'], ['key', 'revoke']])
    it(`for "${words.join(' ')}" are those of its usage only`, async () => {
      expect(await loadedBy({}, ...words)).to.deep.equal(['cli/arguments', 'cli/commands', 'cli/main', 'lib/files'])
    })

  it('for a verb without a server include neither Postgres nor an interface of the service', async () => {
    const loaded = await loadedBy({}, 'ledger', 'verify', '--file', 'package.json')
    expect(loaded).to.include('cli/ledger-verify-verbs').and.to.include('zod')
    expect(loaded).to.not.include.members(['cli/company-verbs'])
    expect(loaded.filter((name) => /^(pg|express|preact|@grpc|service|api|panel)(\/|-|$)/.test(name))).to.deep.equal([])
  })
})
