import { execFile } from 'node:child_process'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Client } from 'pg'
import { freePort } from '#postgres/embedded.ts'
import { accountForPostgres, findPrograms, NOT_INSTALLED } from '../ops/system-postgres.ts'
import { administer, makeServiceRole, type TestServer } from './server.ts'
import { until } from './wait.ts'

const run = promisify(execFile)

/** A primary server, and a replica with a configurable delay. */
export interface FollowedPostgres {
  /** URL of the maintenance database for a user who may create databases. */
  readonly primary: string
  readonly standby: string
  /** Sets the delay of commits on the replica. */
  delay(ms: number): Promise<void>
  /** Pauses replay; later commits are not visible. */
  pause(): Promise<void>
  resume(): Promise<void>
  stopStandby(): Promise<void>
  startStandby(): Promise<void>
  /** Makes the replica a primary. */
  promote(): Promise<void>
  stop(): Promise<void>
}

/** Test data need not survive a power failure. Queries on the replica delay replay only briefly. */
const SETTINGS =
  '-c fsync=off -c max_connections=200 -c listen_addresses=127.0.0.1 -c max_standby_streaming_delay=100ms'

/** Starts both servers; returns the reason if the programs are not installed. */
export async function startFollowed(delay_ms = 0): Promise<FollowedPostgres | string> {
  const programs = await findPrograms()
  if (!programs) return NOT_INSTALLED
  const owner = await accountForPostgres()
  const root = await mkdtemp(join(tmpdir(), 'tillbook-followed-'))
  if (owner) await chown(root, owner.uid, owner.gid)
  const program = (name: string, ...args: string[]) => run(join(programs, name), args, { cwd: '/', ...owner })
  const folder = (name: string) => join(root, name)
  const start = async (name: string, port: number): Promise<void> => {
    const settings = `-p ${port} -k ${root} ${SETTINGS}`
    await program('pg_ctl', '-D', folder(name), '-l', folder(`${name}.log`), '-o', settings, '-w', 'start')
  }
  const stop = (name: string) => program('pg_ctl', '-D', folder(name), '-m', 'immediate', '-w', 'stop')
  const urlOf = (port: number) => `postgres://tillbook@127.0.0.1:${port}/postgres`
  await program(
    'initdb',
    '-D',
    folder('primary'),
    '-U',
    'tillbook',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  )
  const [port, standbyPort] = [await freePort(null), await freePort(null)]
  const [primary, standby] = [urlOf(port), urlOf(standbyPort)]
  await start('primary', port)
  await program(
    'pg_basebackup',
    '-d',
    primary,
    '-D',
    folder('standby'),
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
    '--no-sync',
  )
  await start('standby', standbyPort)
  /** Retries after a conflict with replay. */
  const onStandby = async (...statements: string[]): Promise<void> => {
    const send = async (client: Client) => {
      for (const statement of statements) await client.query(statement)
      return true
    }
    await until(() => administer(standby, send))
  }
  const delay = (ms: number) =>
    onStandby(`alter system set recovery_min_apply_delay = ${ms}`, 'select pg_reload_conf()')
  if (delay_ms > 0) await delay(delay_ms)
  return {
    primary,
    standby,
    delay,
    async pause() {
      await onStandby('select pg_wal_replay_pause()')
      const isPaused = `select where pg_get_wal_replay_pause_state() = 'paused'`
      await until(() => administer(standby, async (client) => (await client.query(isPaused)).rowCount === 1))
    },
    resume: () => onStandby('select pg_wal_replay_resume()'),
    stopStandby: async () => void (await stop('standby')),
    startStandby: () => start('standby', standbyPort),
    promote: async () => void (await program('pg_ctl', '-D', folder('standby'), '-w', 'promote')),
    async stop() {
      await Promise.all(['primary', 'standby'].map((name) => stop(name).catch(() => {})))
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Server of a run that reads from a delayed replica (TEST_REPLICA_DELAY_MS); its URL is in TILLBOOK_TEST_REPLICA. */
export async function startFollowedServer(delay_ms: number): Promise<TestServer> {
  const followed = await startFollowed()
  if (typeof followed === 'string') throw new Error(followed)
  const serviceUrl = await makeServiceRole(followed.primary)
  await followed.delay(delay_ms)
  const { username, password } = new URL(serviceUrl)
  process.env.TILLBOOK_TEST_REPLICA = Object.assign(new URL(followed.standby), { username, password }).href
  return { url: followed.primary, serviceUrl, stop: followed.stop }
}
