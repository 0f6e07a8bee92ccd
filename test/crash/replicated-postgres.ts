import { execFile } from 'node:child_process'
import { appendFile, chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#postgres/embedded.ts'
import { accountForPostgres, findPrograms, NOT_INSTALLED } from '../ops/system-postgres.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const run = promisify(execFile)

/** A primary and a synchronous replica, set up as in docs/operations/failover.md. */
export interface ReplicatedPostgres {
  /** URL of the primary; changes with `promote`. */
  readonly primary: string
  /** Read-only until it is promoted. */
  readonly standby: string
  /** Ends the primary like a power failure. */
  killPrimary(): Promise<void>
  /** Freezes or resumes one server with everything under way. */
  freeze(which: 'primary' | 'standby', signal?: 'SIGSTOP' | 'SIGCONT'): Promise<void>
  /** Promotes the replica, which waits for no replica until the other server has rejoined. */
  promote(): Promise<void>
  /** Kills the former primary if it still runs and restarts it as a replica; from then on every COMMIT waits for it. */
  rejoin(by: 'pg_rewind' | 'pg_basebackup'): Promise<void>
  stop(): Promise<void>
}

interface Server {
  /** Replica name known to the primary. */
  readonly name: string
  readonly folder: string
  readonly url: string
  readonly settings: string
}

/** Starts both servers; returns the reason if the programs are not installed. */
export async function startReplicated(): Promise<ReplicatedPostgres | string> {
  const programs = await findPrograms()
  if (!programs) return NOT_INSTALLED
  const owner = await accountForPostgres()
  const root = await mkdtemp(join(tmpdir(), 'tillbook-replicated-'))
  if (owner) await chown(root, owner.uid, owner.gid)
  const program = (name: string, ...args: string[]) => run(join(programs, name), args, { cwd: '/', ...owner })

  const place = async (name: string): Promise<Server> => {
    const port = await freePort(null)
    const settings = `-p ${port} -k ${root} -c listen_addresses=127.0.0.1 -c cluster_name=${name}`
    return { name, folder: join(root, name), url: `postgres://tillbook@127.0.0.1:${port}/postgres`, settings }
  }
  const start = ({ folder, settings }: Server) =>
    program('pg_ctl', '-D', folder, '-l', `${folder}.log`, '-o', settings, '-w', 'start')
  const copy = (from: Server, to: Server) =>
    program('pg_basebackup', '-d', from.url, '-D', to.folder, '-R', '-X', 'stream', '-c', 'fast')
  /** Sessions of the service request more than this setting themselves. */
  const waitFor = ({ url }: Server, { name }: Server) =>
    administer(url, async (client) => {
      await client.query(`alter system set synchronous_standby_names = '${name}'`)
      await client.query('alter system set synchronous_commit = off')
      await client.query('select pg_reload_conf()')
      const isAttached = async () =>
        (await client.query(`select from pg_stat_replication where sync_state = 'sync'`)).rowCount === 1
      await until(isAttached, { what: 'a synchronous standby' })
    })

  let [primary, standby] = await Promise.all([place('a'), place('b')])
  // pg_rewind requires checksums and the write-ahead log from before the failover.
  await program('initdb', '-D', primary.folder, '-U', 'tillbook', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-k')
  await appendFile(join(primary.folder, 'postgresql.conf'), `wal_keep_size = '256MB'\n`)
  await start(primary)
  await copy(primary, standby)
  await start(standby)
  await waitFor(primary, standby)
  return {
    get primary() {
      return primary.url
    },
    get standby() {
      return standby.url
    },
    killPrimary: async () => signal(await processesOf(primary), 'SIGKILL'),
    async freeze(which, name = 'SIGSTOP') {
      signal(await processesOf(which === 'primary' ? primary : standby), name)
    },
    async promote() {
      await program('pg_ctl', '-D', standby.folder, '-w', 'promote')
      ;[primary, standby] = [standby, primary]
    },
    async rejoin(by) {
      signal(await processesOf(standby), 'SIGKILL')
      await until(async () => (await processesOf(standby)).length === 0, { what: 'the end of the former primary' })
      // The process may remain as a zombie, because no parent has waited for it.
      const port = new URL(standby.url).port
      for (const lock of [join(standby.folder, 'postmaster.pid'), join(root, `.s.PGSQL.${port}.lock`)])
        await rm(lock, { force: true })
      if (by === 'pg_basebackup') {
        await rm(standby.folder, { recursive: true })
        await copy(primary, standby)
      } else {
        // The state of the new primary is that of its last checkpoint.
        await administer(primary.url, (client) => client.query('checkpoint'))
        await program('pg_rewind', '-D', standby.folder, '--source-server', primary.url, '-R')
      }
      await start(standby)
      await waitFor(primary, standby)
    },
    async stop() {
      for (const server of [primary, standby]) signal(await processesOf(server), 'SIGKILL')
      await rm(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** The server process and its children; empty if it does not run. */
async function processesOf({ folder }: Server): Promise<number[]> {
  const [pid = ''] = (await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(ids.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')))
  const isOfServer = (stat: string) => {
    const [, id, state, parent] = /^(\d+) \(.*\) (\S) (\d+) /s.exec(stat) ?? []
    return state !== 'Z' && id !== undefined && pid !== '' && (id === pid || parent === pid)
  }
  return stats.filter(isOfServer).map((stat) => Number.parseInt(stat, 10))
}

function signal(processes: readonly number[], name: NodeJS.Signals): void {
  for (const pid of processes) {
    try {
      process.kill(pid, name)
    } catch (error) {
      // The process has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
