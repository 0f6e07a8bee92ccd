import { expect } from 'chai'
import { purgeTables } from '../support/purge.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../support/use-api.ts'

describe('retention of refused sales', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  /** Sale with these ages, in days, of its last upload and its settlement; open if null. */
  const refused = (offlineId: string, sent: number, settled: number | null) =>
    api.core.pool.query(
      `insert into ops.refused_sales (company_id, user_id, digest, offline_id, first_refused_at, last_refused_at, times, code, message, errors, settled_at)
       values ($1, 1, sha256(convert_to($2, 'UTF8')), $2, now() - interval '400 days', now() - make_interval(days => $3), 1, 'x', 'x', '{}', now() - make_interval(days => $4))`,
      [company.id, offlineId, sent, settled],
    )
  const left = async (): Promise<string[]> => {
    const { rows } = await api.core.pool.query<{ offline_id: string }>(
      'select offline_id from ops.refused_sales where company_id = $1 order by offline_id',
      [company.id],
    )
    return rows.map(({ offline_id }) => offline_id)
  }

  it('deletes sales settled 90 days ago, also of a company that no longer uploads [PRIV-61]', async () => {
    await refused('old', 200, 91)
    expect(await purgeTables(api.core.pool, 'refused_sales')).to.equal(1)
    expect(await left()).to.deep.equal([])
  })

  it('keeps sales that were settled recently or sent again since [PRIV-61]', async () => {
    await refused('sent again', 89, 91)
    await refused('settled lately', 91, 89)
    await purgeTables(api.core.pool, 'refused_sales')
    expect(await left()).to.deep.equal(['sent again', 'settled lately'])
  })

  it('keeps open sales of any age [PRIV-61]', async () => {
    await refused('open', 300, null)
    await purgeTables(api.core.pool, 'refused_sales')
    expect(await left()).to.deep.equal(['open'])
  })
})
