import { expect } from 'chai'
import { idsAfter } from '#ledger/ledgers.ts'

const restored = (ids: object) => ({ type: 'InstallationRestored', subject: 'company/1', data: { ids } })
const made = (subject: string) => ({ type: 'Made', subject, data: {} })

describe('ids issued by a company', () => {
  it('continue after the ids recorded by a restore, and never go back [OPS-84]', () => {
    expect(
      idsAfter({ sale: 7, order: 20_000 }, restored({ sale: 10_007, order: 10_000, store: 10_000 })),
    ).to.deep.equal({
      sale: 10_007,
      order: 20_000,
      store: 10_000,
    })
    expect(idsAfter({ sale: 10_007 }, made('sale/10008'))).to.deep.equal({ sale: 10_008 })
    expect(idsAfter({ sale: 10_007 }, made('sale/8'))).to.deep.equal({ sale: 10_007 })
    expect(idsAfter({}, restored({ company: 5, nothing: 6 }))).to.deep.equal({})
  })
})
