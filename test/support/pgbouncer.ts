import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '#postgres/embedded.ts'
import { until } from './wait.ts'

const run = promisify(execFile)

/** A connection pooler in front of a test server. */
export interface Pooler {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts PgBouncer in front of a database with default settings except for the mode; returns the reason if it is not
 * installed.
 */
export async function startPgBouncer(databaseUrl: string, mode: 'session' | 'transaction'): Promise<Pooler | string> {
  const program = await findProgram()
  if (program === null) return 'PgBouncer is not installed'
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
  const root = await mkdtemp(join(tmpdir(), 'tillbook-pgbouncer-'))
  const owner = await ordinaryUser()
  const port = await freePort(null)
  const target = `host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`
  const settings = [
    '[databases]',
    `* = ${target}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 40',
  ]
  const file = join(root, 'pgbouncer.ini')
  await writeFile(file, `${settings.join('\n')}\n`)
  if (owner) for (const path of [root, file]) await chown(path, owner.uid, owner.gid)
  const child = spawn(program, [file], { cwd: '/', stdio: 'ignore', ...owner })
  const url = `postgres://${username}@127.0.0.1:${port}${pathname}`
  await until(() => answers(url), { what: 'an answer of PgBouncer' })
  return { url, stop: () => stop(child, root) }
}

async function stop(child: ChildProcess, root: string): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  await rm(root, { recursive: true })
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.end()
  return true
}

async function findProgram(): Promise<string | null> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    const path = join(folder, 'pgbouncer')
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return null
}

/** PgBouncer does not run as root. */
async function ordinaryUser(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'nobody'])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}
