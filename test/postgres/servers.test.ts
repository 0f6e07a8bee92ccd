import { connect, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { freePort } from '#postgres/embedded.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { isOutage } from '#postgres/outage.ts'
import { createPool } from '#postgres/pool.ts'
import { NoSuitableServer } from '#postgres/servers.ts'
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
