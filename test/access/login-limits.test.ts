import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { countAttempt, countersOf, type LoginAttempt, refundAttempt, rememberOrigin } from '#access/login-limits.ts'
import { createPool } from '#postgres/pool.ts'
import { purgeTables } from '../support/purge.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const NO_PROOF = { device: null, token: null }
const ADMITTED = { kind: 'admitted' }
const LIMITED = { kind: 'limited' }

describe('login limits', () => {
  const api = useApi(OWN_DATABASE)
  let accounts = 0
  let email: string

  beforeEach(async () => {
    email = `conta${++accounts}@loja.example`
    await api.core.pool.query('delete from ops.login_failures')
  })

  const attempt = (more: Partial<LoginAttempt> = {}): LoginAttempt => ({
    email,
    address: '192.0.2.1',
    proof: NO_PROOF,
    ...more,
  })
  const count = (more: Partial<LoginAttempt> = {}) => countAttempt(api.core.pool, attempt(more))
  const remember = (address: string, device: Buffer | null = null) =>
    rememberOrigin(api.core.pool, { email, address }, device)
  const minutePasses = () =>
    api.core.pool.query("update ops.login_failures set minute_ends_at = now() - interval '1 s'")

  it('allow an account ten failures a minute and sixty an hour, over all unknown origins [TOKEN-7]', async () => {
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 10; n++) expect(await count({ address: `2001:db8:${n}::` })).to.include({ kind: 'admitted' })
      expect(await count({ address: '2001:db8:99::' })).to.have.property('kind', 'limited')
      await minutePasses()
    }
    const refused = await count({ address: '2001:db8:99::' })
    expect(refused).to.have.property('kind', 'limited')
    expect(refused).to.have.property('retryAfter').that.is.within(3_500, 3_600)
  })

  it('allow unauthenticated clients 50 a minute per address, 200 per network and 1,200 in total [TOKEN-7]', async () => {
    const unknown = countersOf(attempt()).filter(({ standing }) => standing === 'unknown')
    expect(unknown.map(({ perMinute, perHour }) => [perMinute, perHour])).to.deep.equal([
      [10, 60],
      [50, 500],
      [200, 2_000],
      [1_200, 20_000],
    ])
    for (const { key, perMinute } of unknown) {
      await api.core.pool.query(
        `insert into ops.login_failures values ($1, now() + interval '50 s', $2, now() + interval '59 min', $2)`,
        [key, perMinute - 1],
      )
      expect(await count()).to.include({ kind: 'admitted', standing: 'unknown' })
      const { rows } = await api.core.pool.query('select key from ops.login_failures')
      expect(await count()).to.deep.equal({ kind: 'limited', retryAfter: 50 })
      // The refused attempt was not counted in other windows.
      const again = await api.core.pool.query(
        'select max(minute_count) as most from ops.login_failures where key <> $1',
        [key],
      )
      expect(again.rows).to.deep.equal([{ most: 1 }])
      expect(rows).to.have.length(4)
      await api.core.pool.query('delete from ops.login_failures')
    }
  })

  it('allow approvals of others five failures a minute and thirty an hour by session and person [ROLE-121]', async () => {
    const asking = (more: Partial<LoginAttempt> = {}) => count({ proof: { asking: randomBytes(32) }, ...more })
    const session = { proof: { asking: randomBytes(32) } }
    for (let n = 0; n < 5; n++)
      expect(await asking({ email: `outra${n}@loja.example`, ...session })).to.include(ADMITTED)
    expect(await asking({ email: 'mais uma@loja.example', ...session })).to.include(LIMITED)
    await minutePasses()
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 5; n++) expect(await asking({ address: `203.0.113.${round}` })).to.include(ADMITTED)
      expect(await asking()).to.include(LIMITED)
      await minutePasses()
    }
    expect(await asking())
      .to.have.property('retryAfter')
      .that.is.within(3_500, 3_600)
  })

  it('allow approvals of others fifty failures an hour by address [ROLE-121]', async () => {
    const asking = (n: number) => count({ email: `conta${n}@loja.example`, proof: { asking: randomBytes(32) } })
    for (let n = 0; n < 50; n++) expect(await asking(n)).to.include(ADMITTED)
    expect(await asking(50)).to.include(LIMITED)
    expect(await count({ proof: 'inside' })).to.include(ADMITTED)
  })

  it('recognise a device and a network per account, and a device also for another account [TOKEN-10]', async () => {
    const device = randomBytes(32)
    const shown = { proof: { device, token: null } }
    expect(await count(shown)).to.include({ standing: 'unknown', isDeviceKnown: false })
    await remember('203.0.113.9', device)
    expect(await count(shown)).to.include({ standing: 'device', isDeviceKnown: true })
    expect(await count({ address: '203.0.113.77' })).to.include({ standing: 'network' })
    expect(await count({ address: '203.0.114.9' })).to.include({ standing: 'unknown' })
    email = 'outra@loja.example'
    expect(await count(shown)).to.include({ standing: 'unknown', isDeviceKnown: true })
    expect(await count({ proof: 'inside' })).to.include({ standing: 'device' })
  })

  it('refund successful attempts, which start no window', async () => {
    for (let n = 0; n < 25; n++) {
      const counted = await count()
      if (counted.kind !== 'admitted') throw new Error('an attempt that was right is counted')
      await refundAttempt(api.core.pool, counted.keys)
    }
  })

  it('are exact for concurrent attempts on separate connections [TOKEN-7]', async () => {
    const pool = createPool(api.databaseUrl, { max: 10 })
    try {
      const all = await Promise.all(Array.from({ length: 100 }, () => countAttempt(pool, attempt())))
      expect(all.filter(({ kind }) => kind === 'admitted')).to.have.length(10)
    } finally {
      await pool.end()
    }
  })

  it('keep fifty origins per account without secrets, and drop the least recently seen first', async () => {
    const device = randomBytes(32)
    await remember('10.0.0.1', device)
    await api.core.pool.query("update ops.login_origins set seen_at = seen_at - interval '2 days'")
    for (let n = 1; n <= 48; n++) await remember(`10.0.${n}.1`)
    await remember('10.0.0.1', device)
    for (let n = 49; n <= 60; n++) await remember(`10.0.${n}.1`)
    const { rows } = await api.core.pool.query('select count(*)::int as kept from ops.login_origins')
    expect(rows[0].kept).to.be.at.most(50 + 3)
    expect(await count({ proof: { device, token: null } })).to.include({ standing: 'device' })
    expect(await count({ address: '10.0.1.1' })).to.include({ standing: 'unknown' })
  })

  it('delete expired counts and old origins', async () => {
    await remember('10.0.0.1')
    await count({ address: '198.51.100.1' })
    await api.core.pool.query("update ops.login_failures set hour_ends_at = now() - interval '1 s'")
    await api.core.pool.query("update ops.login_origins set seen_at = now() - interval '401 days'")
    await purgeTables(api.core.pool, 'login_failures', 'login_origins')
    for (const table of ['login_failures', 'login_origins'])
      expect((await api.core.pool.query(`select from ops.${table}`)).rowCount, table).to.equal(0)
  })
})
