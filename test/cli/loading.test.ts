import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { tillbook } from './tillbook.ts'

describe('what the command line loads', () => {
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-loading-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  /** Files of the product, as `cli/main`, and packages that a command line has made node load. */
  async function loadedBy(...words: string[]): Promise<string[]> {
    await tillbook({ NODE_V8_COVERAGE: directory, DATA_DIR: directory }, ...words)
    const [report] = (await readdir(directory)).filter((name) => name.startsWith('coverage-'))
    const { result } = JSON.parse(await readFile(join(directory, report ?? ''), 'utf8')) as {
      result: { url: string }[]
    }
    const names = result.map(({ url }) => {
      const [, name] =
        /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? /\/dist\/(?:src\/)?(.+)\.js$/.exec(url) ?? []
      return name ?? null
    })
    return [...new Set(names)].filter((name) => name !== null).sort()
  }

  for (const words of [['--help'], ['ledger', '--help'], ['company', 'destroy'], ['key', 'revoke']])
    it(`for "${words.join(' ')}" is its usage, and nothing else`, async () => {
      expect(await loadedBy(...words)).to.deep.equal(['cli/arguments', 'cli/commands', 'cli/main'])
    })

  it('for a verb that needs no server is neither Postgres nor an interface of the service', async () => {
    const loaded = await loadedBy('ledger', 'verify', '--file', 'package.json')
    expect(loaded).to.include('cli/ledger-verify').and.to.include('zod')
    expect(loaded).to.not.include.members(['cli/companies'])
    expect(loaded.filter((name) => /^(pg|express|preact|@grpc|service|api|panel)(\/|-|$)/.test(name))).to.deep.equal([])
  })
})
