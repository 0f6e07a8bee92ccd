import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { inSource } from '#lib/errors.ts'

describe('stack frames', () => {
  const folder = mkdtempSync(join(tmpdir(), 'frames '))
  after(() => rm(folder, { recursive: true }))
  const compiled = (name: string) => pathToFileURL(join(folder, name)).href

  it('are mapped to the source, and stay unchanged without a map or an entry in it', () => {
    // Maps the start of line 2 to line 5, column 3.
    const map = { version: 3, sources: ['../src/one.ts'], names: [], mappings: ';AAIE' }
    writeFileSync(join(folder, 'one.js.map'), JSON.stringify(map))
    writeFileSync(join(folder, 'broken.js.map'), '{')
    expect(inSource(`    at sell (${compiled('one.js')}:2:9)`)).to.equal(
      `    at sell (${join(folder, '../src/one.ts')}:5:3)`,
    )
    for (const other of [
      `    at sell (${compiled('broken.js')}:2:9)`,
      `    at async ${compiled('none.js')}:2:9`,
      '    at node:internal/main:1:1',
      '    at <anonymous>',
    ]) {
      expect(inSource(other)).to.equal(other)
    }
  })
})
