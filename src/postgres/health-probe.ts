import pg from 'pg'
import type { ServerStatus } from './primary-election.ts'

/** Queries the status of one server on a persistent connection. */
export interface HealthProbe {
  /** @throws the driver's error; the next call reconnects */
  ask(): Promise<ServerStatus>
  close(): void
}

/** Time limit for the connection and for the answer. */
const ANSWER_MS = 2_000
/** Time limit for a clean disconnect. */
const LEAVE_MS = 1_000

const ASK = `
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
    (select system_identifier::text from pg_control_system()) as system,
    case when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`
/** Fallback for providers that restrict the control functions or have no write-ahead log files. */
const ASK_LESS = `
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
    null as system, null as timeline`
const NOT_TOLD = ['42501', '42883', '0A000']

/** `onLost` is called as soon as the connection ends by itself. */
export function createHealthProbe(url: string, onLost: () => void): HealthProbe {
  let client: pg.Client | null = null
  let statement = ASK
  let closings = 0

  function leave(left: pg.Client): void {
    if (client === left) client = null
    left.end().catch(() => {})
    const timer = setTimeout(() => left.connection.stream.destroy(), LEAVE_MS)
    left.once('end', () => clearTimeout(timer))
  }

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({
      connectionString: url,
      application_name: 'tillbook hosts',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    })
    fresh.on('error', () => {
      if (client !== fresh) return
      client = null
      onLost()
    })
    const closingsBefore = closings
    await fresh.connect()
    if (closings > closingsBefore) {
      leave(fresh)
      throw new Error('health probe: closed while it connected')
    }
    return fresh
  }

  async function ask(): Promise<ServerStatus> {
    client ??= await connect()
    const asked = client
    try {
      const { rows } = await asked.query<ServerStatus>(statement)
      return rows[0] as ServerStatus
    } catch (error) {
      const isNotTold = NOT_TOLD.includes(String((error as { code?: unknown }).code))
      if (isNotTold && statement === ASK) {
        statement = ASK_LESS
        return ask()
      }
      leave(asked)
      throw error
    }
  }

  return {
    ask,
    close() {
      closings += 1
      if (client) leave(client)
    },
  }
}
