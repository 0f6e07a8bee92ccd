import { access, readFile } from 'node:fs/promises'
import { expect } from 'chai'

describe('SECURITY.md', () => {
  it('names existing tests for every threat', async () => {
    const text = await readFile('SECURITY.md', 'utf8')
    const named = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(named).to.have.length.above(15)
    for (const path of named) await access(path)
    const [, threats = ''] = /\| Who \|.*\n\|[-|]*\n((?:\|.*\n)+)/.exec(text) ?? []
    const rows = threats.trim().split('\n')
    expect(rows).to.have.length.above(10)
    for (const row of rows) expect(row).to.match(/`test\/[^`]+` \|$/)
  })
})
