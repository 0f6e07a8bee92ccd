import { connect, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { readConfig } from '#config/config.ts'
import { leadsToPrimary, parseHosts } from '#postgres/cluster.ts'
import { isOutage } from '#postgres/database.ts'
import { freePort } from '#postgres/embedded.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { createPool } from '#postgres/pool.ts'
import { electServer, NoSuitableServer, type ServerStatus } from '#postgres/servers.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

describe('connections to one of several servers', () => {
  const database = useDatabase()
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
  })

  /** Accepts connections and never answers, like a frozen machine. */
  const silent = (): Promise<number> => serve((socket) => void socket.on('data', () => {}))
  /** Proxies to the database while it is open. */
  const wayTo = (url: string, isOpen: () => boolean): Promise<number> =>
    serve((socket) => {
      if (!isOpen()) return void socket.destroy()
      const { hostname, port } = new URL(url)
      const upstream = connect(Number(port), hostname)
      sockets.add(upstream)
      socket.pipe(upstream).pipe(socket)
      upstream.on('error', () => {}).on('close', () => socket.destroy())
      socket.on('close', () => upstream.destroy())
    })
  async function serve(onSocket: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      onSocket(socket)
    })
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return (server.address() as { port: number }).port
  }
  const urlOf = (...ports: readonly number[]): string => {
    const { username, password, pathname } = new URL(database.url)
    return `postgres://${username}:${password}@${ports.map((port) => `127.0.0.1:${port}`)}${pathname}`
  }

  it('find the writable server among servers that refuse, do not respond, or are not Postgres [OPS-112]', async () => {
    const { port } = new URL(database.url)
    const url = urlOf(await freePort(null), await silent(), Number(port))
    const pool = createPool(url, { max: 2 })
    const heard: (string | null)[] = []
    const listener = listenToChannel({
      databaseUrl: url,
      channel: 'several',
      application_name: 'several',
      onNotification: (payload) => heard.push(payload),
      onError: (error) => heard.push(String(error)),
    })
    const { rows } = await pool.query('select pg_is_in_recovery() as is_standby')
    expect(rows).to.deep.equal([{ is_standby: false }])
    await until(async () => {
      await pool.query(`select pg_notify('several', 'a word')`)
      return heard.includes('a word')
    })
    await listener.close()
    await pool.end()
  })

  it('fail over to another server, and report the state of each server while none is writable [OPS-113]', async () => {
    const open = { first: true, second: false }
    const first = await wayTo(database.url, () => open.first)
    const second = await wayTo(database.url, () => open.second)
    const pool = createPool(urlOf(first, second), { max: 1 })
    await pool.query('select 1')
    open.first = false
    for (const socket of sockets) socket.destroy()
    const refused = await until(() =>
      pool.query('select 1').then(
        () => null,
        (error) => error instanceof NoSuitableServer && error,
      ),
    )
    expect(refused.message).to.match(/^no server of the URL is read-write: 127\.0\.0\.1:\d+ is not reached \(.+\), 127/)
    expect(refused.message).not.to.include(new URL(database.url).password)
    open.second = true
    await until(() => pool.query('select 1').then(() => true))
    await pool.end()
  })

  it('are dropped once their server becomes read-only, and a write there counts as an outage [OPS-113]', async () => {
    const { pathname, port } = new URL(database.url)
    const pool = createPool(urlOf(Number(port), await freePort(null)), { max: 1 })
    await pool.query('select 1')
    const set = (value: string) =>
      administer(database.ownerUrl, async (client) => {
        await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = ${value}`)
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name like 'tillbook%' and pid <> pg_backend_pid()`,
        )
      })
    await set('on')
    await until(() =>
      pool.query('select 1').then(
        () => false,
        (error) => error instanceof NoSuitableServer && /:\d+ is read-only, /.test(error.message),
      ),
    )
    const single = createPool(database.url, { max: 1 })
    const failure = await single.query('create temp table t (n int)').catch((error: unknown) => error)
    expect(isOutage(failure)).to.equal(true)
    await single.end()
    await administer(database.ownerUrl, async (client) => {
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter database ${pathname.slice(1)} reset default_transaction_read_only`)
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tillbook hosts' and datname = current_database()`,
      )
    })
    await until(() => pool.query('select 1').then(() => true))
    await pool.end()
  })
})

describe('hosts of a URL', () => {
  it('can be several, separated by commas, by name or address, each with its port or 5432 [OPS-112]', () => {
    const hosts = parseHosts('postgres://till:p,w@a:5433,[2001:db8::1],10.0.0.7:6543/shop?sslmode=require')
    expect(hosts).to.deep.include({
      wanted: 'read-write',
      all: [
        { host: 'a', port: 5433 },
        { host: '2001:db8::1', port: 5432 },
        { host: '10.0.0.7', port: 6543 },
      ],
    })
    expect(hosts?.all.map(hosts.urlOf)).to.deep.equal([
      'postgres://till:p,w@a:5433/shop?sslmode=require',
      'postgres://till:p,w@[2001:db8::1]:5432/shop?sslmode=require',
      'postgres://till:p,w@10.0.0.7:6543/shop?sslmode=require',
    ])
  })

  it('are left to the driver if there is only one, unless the URL requires a kind of server [OPS-112]', () => {
    for (const url of [
      'postgres://a/shop',
      'postgresql://u:p@a:1/b?target_session_attrs=any',
      'postgres:///b?host=/run',
    ])
      expect(parseHosts(url), url).to.equal(null)
    const hosts = parseHosts('postgres://db.internal/shop?connect_timeout=3&target_session_attrs=primary')
    expect(hosts).to.deep.include({ wanted: 'primary', all: [{ host: 'db.internal', port: 5432 }] })
    expect(hosts?.all.map(hosts.urlOf)).to.deep.equal(['postgres://db.internal:5432/shop?connect_timeout=3'])
  })

  it('are refused if they are invalid, without the URL in the message [OPS-112]', () => {
    for (const authority of ['a,', ',a', 'a,a:5432', 'a:0,b', 'a:65536,b', 'a:x,b', 'a b,c', '::1,b', '[a],b']) {
      const url = `postgres://u:secret@${authority}/shop`
      expect(() => parseHosts(url), authority)
        .to.throw(/host/)
        .with.property('message')
        .that.does.not.include('secret')
    }
    for (const query of ['target_session_attrs=writable', 'target_session_attrs=', 'host=a,b', 'port=1%2C2'])
      expect(() => parseHosts(`postgres://a,b/shop?${query}`), query).to.throw()
  })

  it('in settings resolve to the writable server [OPS-112]', () => {
    const DATABASE_URL = 'postgres://u:secret@a:5432,b:5433/shop?target_session_attrs=read-write'
    expect(readConfig({ DATABASE_URL, DATABASE_OWNER_URL: DATABASE_URL })).to.include({ DATABASE_URL })
    for (const wrong of ['standby', 'prefer-standby', 'any', 'read-only']) {
      const settings = { DATABASE_URL: DATABASE_URL.replace('read-write', wrong) }
      expect(() => readConfig(settings), wrong).to.throw(/^DATABASE_URL should be a URL like [^,]*, several hosts/)
    }
    expect(leadsToPrimary('postgres://a,b/shop')).to.equal(true)
    expect(leadsToPrimary('postgres://a,b/shop?target_session_attrs=any')).to.equal(false)
  })
})

describe('primary election among several servers', () => {
  const primary = (timeline: number | null = 1, more: Partial<ServerStatus> = {}): ServerStatus => ({
    is_standby: false,
    is_read_only: false,
    system: 's',
    timeline,
    ...more,
  })
  const standby = (more: Partial<ServerStatus> = {}): ServerStatus =>
    primary(null, { is_standby: true, is_read_only: true, ...more })
  const NEWEST = { system: 's', timeline: 1 }
  const choosing = (
    wanted: Parameters<typeof electServer>[1]['wanted'],
    sights: (ServerStatus | null)[],
    last: number | null = null,
  ) => electServer(sights, { wanted, newest: NEWEST, last })

  it('selects the writable server at any position [OPS-112]', () => {
    expect(choosing('read-write', [standby(), primary()])).to.equal(1)
    expect(choosing('read-write', [null, standby()])).to.equal(null)
    expect(choosing('read-write', [primary(1, { is_read_only: true }), standby()])).to.equal(null)
    expect(choosing('primary', [primary(1, { is_read_only: true }), standby()])).to.equal(0)
    expect(choosing('standby', [primary(), standby(), standby()])).to.equal(1)
    expect(choosing('standby', [primary(), standby(), standby()], 2)).to.equal(2)
    expect(choosing('prefer-standby', [primary(), standby()])).to.equal(1)
    expect(choosing('prefer-standby', [primary(), null])).to.equal(0)
    expect(choosing('any', [null, standby(), primary()])).to.equal(1)
  })

  it('selects the primary promoted last, and none older than one already seen [OPS-114]', () => {
    expect(choosing('read-write', [primary(2), primary(3)], 0)).to.equal(1)
    expect(choosing('read-write', [primary(3), primary(3)], 1)).to.equal(1)
    const newest = { system: 's', timeline: 3 }
    expect(electServer([primary(2), null], { wanted: 'read-write', newest, last: 1 })).to.equal(null)
    expect(electServer([primary(2), null], { wanted: 'any', newest, last: 1 })).to.equal(0)
    expect(electServer([primary(null), null], { wanted: 'read-write', newest, last: 1 })).to.equal(0)
  })

  it('never selects a server of another cluster [OPS-114]', () => {
    expect(choosing('read-write', [primary(9, { system: 'other' }), primary()])).to.equal(1)
    expect(choosing('standby', [standby({ system: 'other' }), primary()])).to.equal(null)
    expect(choosing('read-write', [primary(1, { system: null }), standby()])).to.equal(0)
  })
})
