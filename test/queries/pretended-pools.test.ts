import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'

/** What answers statements. An object that is said to be one could send any other SQL. */
const PRETENDED =
  /\bas\s+(?:unknown\s+as\s+|any\s+as\s+)?(?:Pool|PoolClient|Client|Database|Queryable|Reader|ReadSource|Writer)\b/
const FILES = ['*.ts', '*.tsx'].flatMap((name) =>
  ['src', 'queries', 'commands', 'projections'].map((in_) => `${in_}/**/${name}`),
)

const withoutImports = (text: string): string => text.replace(/^(?:import|export) [\s\S]*? from '.*'$/gm, '')

describe('a pretended pool', () => {
  for (const planted of [
    'const pool = { query } as unknown as Pool',
    'return new Proxy(pool, masks) as Pool',
    'createStore({ query: rewritten } as unknown as\n  Database)',
    'listSales({ query } as unknown as Reader, {})',
  ])
    it(`is refused: ${planted.replace(/\s+/g, ' ')} [ROLE-1061]`, () => {
      expect(planted).to.match(PRETENDED)
    })

  it('is nowhere in the product [ROLE-1061]', () => {
    const files = execFileSync('git', ['ls-files', ...FILES.map((glob) => `:(glob)${glob}`)], { encoding: 'utf8' })
    const names = files.split('\n').filter((name) => name !== '')
    expect(names.length).to.be.above(200)
    expect(names.filter((name) => PRETENDED.test(withoutImports(readFileSync(name, 'utf8'))))).to.deep.equal([])
  })
})
