import { execFile } from 'node:child_process'
import { access, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#postgres/embedded.ts'

const run = promisify(execFile)

/** A server from the operating system's packages, and client programs of the same version. */
export interface SystemPostgres {
  /** URL of its maintenance database. */
  readonly url: string
  /** Folder of pg_dump, pg_restore and createdb. */
  readonly programs: string
  /** Its folder, for backups of files. */
  readonly data: string
  readonly port: number
  /** Runs a script as the server's user. */
  bash(script: string): Promise<string>
  startAgain(): Promise<void>
  shutDown(): Promise<void>
  stop(): Promise<void>
}

/** Programs for a server, a replica and dumps. */
const PROGRAMS = ['pg_basebackup', 'initdb', 'pg_ctl', 'postgres', 'pg_dump', 'pg_restore', 'createdb']
/** Folder on Debian and Ubuntu, by version. */
const DEBIAN = '/usr/lib/postgresql'
const OLDEST = 15
export const NOT_INSTALLED = `no PostgreSQL ${OLDEST} or newer with server and client programs is installed`

/**
 * Starts an empty server, or returns the reason if none is installed. Dumps need programs of the server's version,
 * which npm's Postgres lacks.
 *
 * @param env - of the server and its scripts
 */
export async function startSystemPostgres(
  env: Readonly<Record<string, string>> = {},
  settings = '-c fsync=off',
): Promise<SystemPostgres | string> {
  const programs = await findPrograms()
  if (!programs) return NOT_INSTALLED
  const owner = await accountForPostgres()
  const root = await mkdtemp(join(tmpdir(), 'tillbook-system-postgres-'))
  if (owner) await chown(root, owner.uid, owner.gid)
  const data = join(root, 'data')
  const asOwner = { cwd: '/', env: { ...process.env, ...env }, ...owner }
  const program = (name: string, ...args: string[]) => run(join(programs, name), args, asOwner)
  const port = await freePort(null)
  await program('initdb', '-D', data, '-U', 'tillbook', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync')
  const options = `-p ${port} -k ${root} -c listen_addresses=127.0.0.1 ${settings}`
  const startAgain = async () => {
    await program('pg_ctl', '-D', data, '-l', join(root, 'log'), '-o', options, '-t', '120', '-w', 'start')
  }
  const shutDown = async () => {
    await program('pg_ctl', '-D', data, '-m', 'fast', '-w', 'stop')
  }
  await startAgain()
  return {
    url: `postgres://tillbook@127.0.0.1:${port}/postgres`,
    programs,
    data,
    port,
    bash: async (script) => (await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], asOwner)).stdout,
    startAgain,
    shutDown,
    async stop() {
      await shutDown()
      await rm(root, { recursive: true })
    },
  }
}

/** Folder of the newest complete version. */
export async function findPrograms(): Promise<string | null> {
  const versions = await readdir(DEBIAN).catch(() => [])
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, 'bin'))
  for (const folder of [...newestFirst, ...(process.env.PATH ?? '').split(delimiter)]) {
    const isComplete = await Promise.all(PROGRAMS.map((name) => access(join(folder, name)))).then(
      () => true,
      () => false,
    )
    if (isComplete && (await versionOf(folder)) >= OLDEST) return folder
  }
  return null
}

async function versionOf(folder: string): Promise<number> {
  const { stdout } = await run(join(folder, 'postgres'), ['--version'])
  return Number(/\d+/.exec(stdout)?.[0])
}

/** PostgreSQL does not run as root. */
export async function accountForPostgres(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}
