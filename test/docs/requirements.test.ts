import { expect } from 'chai'
import { citationsInComments, citationsInTitles, faultsOf, rulesIn, tableOfTests } from '../../tools/requirements.ts'

const PAGE = '# Sales\n\nProse of SALE-9.\n\n- **SALE-1** A sale adds up.\n- **SALE-6** It is kept.\n'
const TEST = `describe('sales [SALE-6]', () => {
  describe('payments', () => {
    it("must sum to the total: not one's own | share [SALE-1, SALE-6]", () => {})
  })
  for (const kind of KINDS) {
    it(\`are \${kind} [UTF-8] [SALE-1]\`, () => {})
  }
  it('need no rule', () => call('SALE-7'))
})
`

describe('requirements check', () => {
  const rules = rulesIn('sales.md', PAGE)
  const tests = citationsInTitles('test/sales.test.ts', TEST)

  it('reads rules from lines that begin with an id', () => {
    expect(rules.map(({ id }) => id)).to.deep.equal(['SALE-1', 'SALE-6'])
  })

  it('reads citations in test titles, without the ids of surrounding titles', () => {
    expect(tests.map(({ ids, title }) => [title, ...ids])).to.deep.equal([
      ['sales', 'SALE-6'],
      ["sales › payments › must sum to the total: not one's own | share", 'SALE-1', 'SALE-6'],
      ['sales › are …', 'UTF-8', 'SALE-1'],
    ])
  })

  it('reads citations in comments, but not in code', () => {
    const code = [
      '/** Up to the cent (SALE-1), in UTF-8. */',
      ' * as SALE-6 says',
      "const id = 'SALE-3' // (SALE-4)",
      "get('https://x/SALE-5')",
    ]
    expect(citationsInComments('a.ts', code.join('\n'))).to.deep.equal([
      { ids: ['SALE-1', 'SALE-6', 'SALE-4'], file: 'a.ts' },
    ])
    expect(citationsInComments('a.ts', "call('SALE-1')")).to.deep.equal([])
  })

  it('reports a rule of more than 30 words', () => {
    const long = rulesIn('x.md', `- **SALE-4** ${'word '.repeat(31)}\n- **SALE-5** ${'word '.repeat(30)}\n`)
    const tested = [{ ids: ['SALE-4', 'SALE-5'], file: 'a.test.ts' }]
    expect(faultsOf({ rules: long, tests: tested, comments: [] })).to.deep.equal([
      'docs/requirements/x.md: SALE-4 has 31 words: a rule has 30 at most',
    ])
  })

  it('reports unknown, untested and duplicate rules', () => {
    const comments = [{ ids: ['SALE-8'], file: 'a.ts' }]
    const doubled = [...rules, ...rulesIn('x.md', '- **SALE-1** Again.\n- **SALE-3** Alone.\n')]
    expect(faultsOf({ rules: doubled, tests, comments })).to.deep.equal([
      'docs/requirements/x.md: SALE-1 is defined twice',
      'test/sales.test.ts: there is no rule UTF-8',
      'a.ts: there is no rule SALE-8',
      'docs/requirements/x.md: no test cites SALE-3',
    ])
  })

  it('writes a table of rules with their tests', () => {
    const table = tableOfTests({ rules, tests, comments: [] })
    expect(table).to.include('| SALE-6 | [sales.test.ts](../../test/sales.test.ts): sales; sales › payments › must sum')
    expect(table).to.include('own \\| share')
  })
})
