import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stopLeftOver } from '../support/find-embedded.ts'
import { MASTER_KEY } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { buildImageFolder } from './image-folder.ts'

/** On a disk: programs are started from it, and 300 MB are too much for a memory disk. */
const PLACE = '/var/tmp'

/** The user `nobody`. Only root can start the processes of another user. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

export interface RunningProcess {
  readonly pid: number
  output(): string
  /** Waits for a text of its output. @throws Error if it ends before */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Exit code, null if a signal ended it, with everything that was printed. */
  ended(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
  kill(signal: NodeJS.Signals): void
}

/** A production installation of an ordinary user, who may not write where the program is. */
export interface Installation {
  /** The folder of the program. */
  readonly app: string
  /** A folder of the user. */
  readonly dataDir: string
  /** A folder that the user reads. */
  readonly inbox: string
  /** The image's own commands. */
  readonly command: readonly string[]
  readonly healthCheck: readonly string[]
  /** Starts a program: `node` is the image's. */
  start(words: readonly string[]): RunningProcess
  /** The command line on the data of the installation. */
  tillbook(...words: readonly string[]): RunningProcess
  remove(): Promise<void>
}

/** `settings` may change between processes. */
export async function createInstallation(settings: Readonly<Record<string, string>>): Promise<Installation> {
  const folder = await mkdtemp(join(PLACE, 'tillbook-production-'))
  await chmod(folder, 0o755)
  const { app, node, env, command, healthCheck } = await buildImageFolder(folder)
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  if (NOBODY.uid !== undefined) await chown(dataDir, NOBODY.uid, NOBODY.gid)
  const inbox = join(folder, 'inbox')
  await mkdir(inbox)
  const all = new Set<ChildProcess>()
  const own = {
    PATH: `${dirname(node)}:/usr/bin:/bin`,
    HOME: '/nonexistent',
    ...env,
    DATA_DIR: dataDir,
    MASTER_KEY,
  }

  function start([program = '', ...args]: readonly string[]) {
    const file = program === 'node' ? node : program
    const env = { ...own, ...settings }
    const child = spawn(file, args, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'], ...NOBODY })
    all.add(child)
    return runningProcess(child)
  }

  return {
    app,
    dataDir,
    inbox,
    command,
    healthCheck,
    start,
    tillbook: (...words) => start(['node', 'dist/src/cli/main.js', ...words]),
    async remove() {
      for (const child of all) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await stopLeftOver(dataDir)
      await chmodAll(app)
      await rm(folder, { recursive: true })
    },
  }
}

/** Otherwise only root could remove it. */
async function chmodAll(app: string): Promise<void> {
  await once(spawn('chmod', ['-R', 'u+w', app]), 'close')
}

function runningProcess(child: ChildProcess): RunningProcess {
  const [stdout, stderr]: [string[], string[]] = [[], []]
  child.stdout?.setEncoding('utf8').on('data', (text) => stdout.push(text))
  child.stderr?.setEncoding('utf8').on('data', (text) => stderr.push(text))
  const closed = once(child, 'close')
  const output = () => [...stdout, ...stderr].join('')
  return {
    pid: child.pid ?? 0,
    output,
    async says(pattern) {
      const find = async () => {
        const found = pattern.exec(output())
        if (!found && child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${output()}`)
        return found
      }
      return until(find, { timeout_ms: 60_000, what: String(pattern) })
    },
    async ended() {
      await closed
      return { code: child.exitCode, stdout: stdout.join(''), stderr: stderr.join('') }
    },
    kill: (signal) => void child.kill(signal),
  }
}
