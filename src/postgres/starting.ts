import type { ChildProcess } from 'node:child_process'
import { open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { findPostmaster, freePort, launch, logFile, type Postmaster, removeStaleLock } from './postmaster.ts'
import { enter, type Share } from './share.ts'

const ATTEMPTS = 6
const POLL_MS = 25
/** A server that was killed reads its log again before it answers; after a busy day on a slow disk that takes minutes. */
const RECOVERY_TIMEOUT_MS = 10 * 60_000

export interface StartOptions {
  readonly settings: Record<string, string>
  readonly log: (line: string) => void
  /** The port that it must have, where others know it already; otherwise the one it had before, or any that is free. */
  readonly port?: number
  /** Ends the attempts and the waiting; a server that is just starting goes on doing so. */
  readonly signal?: AbortSignal
}

/** Starts the server of a cluster, or adopts the one that runs on it, and takes a share in it. */
export async function startOrAdopt(cluster: Cluster, options: StartOptions): Promise<Share> {
  const deadline = Date.now() + RECOVERY_TIMEOUT_MS
  let failure: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const { server, adopted } = await start(cluster, options, deadline)
      if (options.port !== undefined && server.port !== options.port)
        throw new Error(`another process has started it on port ${server.port}, and not on ${options.port} as before`)
      const share = await enter(cluster.password, server)
      await writeFile(portFile(cluster), `${server.port}\n`)
      options.log(`embedded Postgres ${adopted ? 'adopted' : 'started'} (process ${server.pid}, port ${server.port})`)
      return share
    } catch (error) {
      options.signal?.throwIfAborted()
      failure = error
    }
    // It lost the race for lock file or port, was just going down, or its predecessor's last processes are still leaving.
    await pause(attempt * 100, undefined, options)
  }
  const reason = failure instanceof Error ? failure.message.trim() : String(failure)
  throw new Error(`The embedded Postgres in ${cluster.directory} does not start: ${reason}`, { cause: failure })
}

async function start(cluster: Cluster, options: StartOptions, deadline: number) {
  const present = await settled(cluster, null, deadline, options)
  if (present) return { server: present, adopted: true }
  await removeStaleLock(cluster.directory)
  const logSize = await stat(logFile(cluster)).then(
    (file) => file.size,
    () => 0,
  )
  const port = options.port ?? (await freePort(await rememberedPort(cluster)))
  const child = launch(cluster, port, options.settings)
  const server = await settled(cluster, child, deadline, options)
  if (!server) throw new Error(await logSince(cluster, logSize))
  return { server, adopted: server.pid !== child.pid }
}

/** Waits until the server on this directory accepts connections, or until there is none (any more). */
async function settled(
  cluster: Cluster,
  child: ChildProcess | null,
  deadline: number,
  { signal }: StartOptions,
): Promise<Postmaster | null> {
  let gone = child === null
  let failure: Error | undefined
  child?.once('exit', () => {
    gone = true
  })
  child?.once('error', (error) => {
    failure = error
  })
  while (Date.now() < deadline) {
    const server = await findPostmaster(cluster.directory)
    if (failure) throw failure
    if (server?.ready) return server
    if (!server && gone) return null
    await pause(POLL_MS, undefined, { signal })
  }
  throw new Error(`It does not become ready; see ${logFile(cluster)}.`)
}

function portFile(cluster: Cluster): string {
  return join(cluster.dataDir, 'postgres-port')
}

async function rememberedPort(cluster: Cluster): Promise<number | null> {
  const port = Number(await readFile(portFile(cluster), 'utf8').catch(() => ''))
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null
}

async function logSince(cluster: Cluster, position: number): Promise<string> {
  const file = await open(logFile(cluster))
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(4_000), position })
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
