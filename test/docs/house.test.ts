import { expect } from 'chai'
import { houseFaultsOf } from '../../tools/house.ts'

const LONG = '\n'.repeat(40)

describe('names and sizes of files', () => {
  it('may repeat neither a base name nor be small for one importer', () => {
    const files = new Map([
      ['projections/stores.ts', `import { a } from '#domain/small.ts'${LONG}`],
      ['src/domain/small.ts', 'export const a = 1\n'],
      ['src/cli/stores.ts', LONG],
    ])
    expect(houseFaultsOf(files)).to.deep.equal([
      'src/cli/stores.ts has the name of projections/stores.ts: rename one',
      'src/domain/small.ts has 1 lines and is imported by projections/stores.ts alone: join them',
    ])
  })

  it('may be small for two importers, or for one that loads it late', () => {
    const files = new Map([
      ['src/a.ts', `import { a } from './small.ts'\nconst late = () => import('./late.ts')${LONG}`],
      ['src/b.ts', `import { a } from './small.ts'${LONG}`],
      ['src/small.ts', ''],
      ['src/late.ts', ''],
    ])
    expect(houseFaultsOf(files)).to.deep.equal([])
  })
})
