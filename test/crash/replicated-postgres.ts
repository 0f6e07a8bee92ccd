import { execFile } from 'node:child_process'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#postgres/postmaster.ts'
import { accountForPostgres, findPrograms, NOT_INSTALLED } from '../ops/system-postgres.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const run = promisify(execFile)

/** A server, and a standby that every COMMIT waits for, set up as docs/operations.md says. */
export interface ReplicatedPostgres {
  readonly primary: string
  /** Only reads until it is promoted. */
  readonly standby: string
  /** Ends the primary as a power failure would, for good. */
  killPrimary(): Promise<void>
  /** Makes a primary of the standby. */
  promote(): Promise<void>
  stop(): Promise<void>
}

/** The name by which the primary waits for its standby. */
const STANDBY = 'standby'

/** Starts both; where the programs are not installed, the reason. */
export async function startReplicated(): Promise<ReplicatedPostgres | string> {
  const programs = await findPrograms()
  if (!programs) return NOT_INSTALLED
  const owner = await accountForPostgres()
  const home = await mkdtemp(join(tmpdir(), 'tillbook-replicated-'))
  if (owner) await chown(home, owner.uid, owner.gid)
  const program = (name: string, ...args: string[]) => run(join(programs, name), args, { cwd: '/', ...owner })
  const folder = (name: string) => join(home, name)
  const start = async (name: string): Promise<string> => {
    const port = await freePort(null)
    const settings = `-p ${port} -k ${home} -c listen_addresses=127.0.0.1 -c cluster_name=${name}`
    await program('pg_ctl', '-D', folder(name), '-l', folder(`${name}.log`), '-o', settings, '-w', 'start')
    return `postgres://tillbook@127.0.0.1:${port}/postgres`
  }
  await program('initdb', '-D', folder('primary'), '-U', 'tillbook', '-A', 'trust', '-E', 'UTF8', '--locale=C')
  const primary = await start('primary')
  await program('pg_basebackup', '-d', primary, '-D', folder(STANDBY), '-R', '-X', 'stream', '-c', 'fast')
  const standby = await start(STANDBY)
  await administer(primary, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '${STANDBY}'`)
    // The service asks for more by itself.
    await client.query('alter system set synchronous_commit = off')
    await client.query('select pg_reload_conf()')
    const isAttached = async () =>
      (await client.query(`select from pg_stat_replication where sync_state = 'sync'`)).rowCount === 1
    await until(isAttached, { what: 'a synchronous standby' })
  })
  const stopOne = (name: string) =>
    program('pg_ctl', '-D', folder(name), '-m', 'immediate', '-w', 'stop').catch(() => {})
  return {
    primary,
    standby,
    async killPrimary() {
      const [pid = ''] = (await readFile(join(folder('primary'), 'postmaster.pid'), 'utf8')).split('\n')
      process.kill(Number(pid), 'SIGKILL')
    },
    promote: async () => void (await program('pg_ctl', '-D', folder(STANDBY), '-w', 'promote')),
    async stop() {
      await Promise.all(['primary', STANDBY].map(stopOne))
      await rm(home, { recursive: true, force: true })
    },
  }
}
