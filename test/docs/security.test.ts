import { access, readFile } from 'node:fs/promises'
import { expect } from 'chai'

describe('SECURITY.md', () => {
  it('names an existing source file and test for every claim', async () => {
    const text = await readFile('SECURITY.md', 'utf8')
    const named = [...text.matchAll(/`((?:src|test|queries|commands|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(named).to.have.length.above(50)
    for (const path of named) await access(path)
    for (const [row] of text.matchAll(/^\| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \|$/gm)) {
      if (/^\| (Threat|Made earlier|---)/.test(row)) continue
      expect(row).to.match(/`src\/|`queries\/|`commands\//)
      expect(row).to.include('`test/')
    }
  })
})
