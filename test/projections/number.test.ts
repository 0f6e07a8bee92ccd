import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readModel } from '#projections/index.ts'

/** Number and hash of the table declarations, as of the last change of the number. */
const VERSION = '1-2f70c286db5f'

describe('number of the read model', () => {
  it('is incremented whenever a table changes, so that an older program detects that it is older [OPS-37]', () => {
    const told =
      'raise NUMBER in projections/index.ts, unless that is done since the last release, and note the version here'
    expect(readModel.version, told).to.equal(VERSION)
    expect(readModel.version.split('-')[0]).to.equal(String(readModel.number))
  })

  it('selects the schema of a process’s tables, so no statement names one [OPS-37]', () => {
    const named: string[] = []
    for (const folder of ['src', 'queries', 'commands', 'projections', 'demo']) {
      for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.tsx?$/.test(path)) continue
        const text = readFileSync(join(folder, path), 'utf8')
        for (const [statement] of text.matchAll(/\b(from|join|into|update) read\.\w+/g))
          named.push(`${folder}/${path}: ${statement}`)
      }
    }
    expect(named).to.deep.equal([])
  })
})
