import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { administer } from './database.ts'

/** Unit of Linux for whole machines and ended processes: hundredths of a second. */
const TICK_US = 10_000

/** Microseconds of processor time. */
export interface ProcessorTime {
  readonly service_us: number
  readonly postgres_us: number
}

/** A service and its Postgres servers on this machine. */
export interface Meter {
  /** Since their start. */
  now(): ProcessorTime
  /** Runs `work` and returns its processor time, independent of other load. */
  measure<T>(work: () => Promise<T>): Promise<{ readonly value: T } & ProcessorTime>
}

/** Meter for processes and servers on this Linux; null if their processor time is not available. */
export async function meterOf(
  services: readonly { readonly pid: number }[],
  databaseUrls: readonly string[],
): Promise<Meter | null> {
  const postmasters = await Promise.all(databaseUrls.map(postmasterOf))
  if (postmasters.includes(null)) return null
  const servers = new Set(postmasters as number[])
  const now = (): ProcessorTime => ({
    service_us: sum(services.map(({ pid }) => ofTree(pid, servers))),
    postgres_us: sum([...servers].map((pid) => ofTree(pid))),
  })
  return {
    now,
    async measure(work) {
      const before = now()
      const value = await work()
      const after = now()
      return {
        value,
        service_us: after.service_us - before.service_us,
        postgres_us: after.postgres_us - before.postgres_us,
      }
    },
  }
}

/** Busy and idle microseconds of all processors since boot. */
export function machineTime(): { readonly busy_us: number; readonly idle_us: number } {
  const [, ...fields] = (readFileSync('/proc/stat', 'latin1').split('\n')[0] as string).split(/ +/).map(Number)
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...others] = fields
  const [interrupts = 0, soft = 0, stolen = 0] = others
  return {
    busy_us: (user + nice + system + interrupts + soft + stolen) * TICK_US,
    idle_us: (idle + waiting) * TICK_US,
  }
}

/** Process id of the postmaster, if it runs on this machine. */
async function postmasterOf(url: string): Promise<number | null> {
  return administer(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const backend = statOf((rows[0] as { pid: number }).pid)
    return backend?.name.startsWith('postgres') ? backend.parent : null
  })
}

/** Processor time of a process and its children (except `others`), ended ones included. */
function ofTree(pid: number, others: ReadonlySet<number> = new Set()): number {
  const own = statOf(pid)
  if (!own) throw new Error(`process ${pid} is gone`)
  const living = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => !others.has(Number(name)))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === pid)
  return own.own_us + own.ended_us + sum(living.map((stat) => stat?.own_us ?? 0))
}

interface Stat {
  readonly name: string
  readonly parent: number
  readonly own_us: number
  /** Ended children. */
  readonly ended_us: number
}

/** Parses /proc/<pid>/stat; null without such a process. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const end = text.lastIndexOf(')')
    // Fields from the state on, number 3 in proc(5).
    const fields = text.slice(end + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      parent: field(4),
      own_us: runTimeOf(pid),
      ended_us: (field(16) + field(17)) * TICK_US,
    }
  } catch {
    return null
  }
}

/** Resets the peak memory of a process to its current memory. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/** Peak memory of a process, in MiB. */
export function peakOf(pid: number): number {
  const [, kibibytes = ''] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  return Math.round(Number(kibibytes) / 1_024)
}

/** Processor time of all live threads of a process, in nanosecond resolution. @throws if there is no such process */
function runTimeOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return sum(
    threads.map((thread) => {
      const [ran = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')
      return Number(ran) / 1_000
    }),
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)
