import { readdirSync, readFileSync } from 'node:fs'
import { administer } from './database.ts'

/** What Linux tells of whole machines, and of processes that have ended, is in hundredths of a second. */
const TICK_US = 10_000

/** Microseconds of processor time. */
export interface ProcessorTime {
  readonly service_us: number
  readonly postgres_us: number
}

/** A service and the Postgres servers that it works on, on this machine. */
export interface Meter {
  /** Since they began. */
  now(): ProcessorTime
  /** Runs `work` and tells the processor time that it took, whatever else the machine did meanwhile. */
  measure<T>(work: () => Promise<T>): Promise<{ readonly value: T } & ProcessorTime>
}

/** Of processes and servers on this Linux; null where their processor time cannot be told. */
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

/** Microseconds of all processors of this machine since it was started: at work, and without. */
export function machineTime(): { readonly busy_us: number; readonly idle_us: number } {
  const [, ...fields] = (readFileSync('/proc/stat', 'latin1').split('\n')[0] as string).split(/ +/).map(Number)
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...others] = fields
  const [interrupts = 0, soft = 0, stolen = 0] = others
  return {
    busy_us: (user + nice + system + interrupts + soft + stolen) * TICK_US,
    idle_us: (idle + waiting) * TICK_US,
  }
}

/** Parent of the process that answers there, if that is one of this machine. */
async function postmasterOf(url: string): Promise<number | null> {
  return administer(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const backend = statOf((rows[0] as { pid: number }).pid)
    return backend?.name.startsWith('postgres') ? backend.parent : null
  })
}

/** A process, those that it has started, but for `others`, and those of them that have ended. */
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
  /** Of children that have ended. */
  readonly ended_us: number
}

/** What /proc tells of a process; null where there is none. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const end = text.lastIndexOf(')')
    // From the state on, which proc(5) numbers 3.
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

/** Of all threads of a process that live, to the nanosecond. @throws where there is no such process */
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
