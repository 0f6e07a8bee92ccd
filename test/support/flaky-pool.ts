import type { Pool, PoolClient } from 'pg'

/** Failure of the next COMMIT: before it reaches the server, or after the server has executed it. */
export type CommitFault = 'none' | 'lost' | 'done'

/** A pool whose connections break at COMMIT on command. */
export function flakyPool(pool: Pool): { pool: Pool; faults: CommitFault[] } {
  const faults: CommitFault[] = []
  const connect = async () => {
    const client = await pool.connect()
    return new Proxy(client, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (name === 'query') return (text: unknown, ...rest: unknown[]) => breakCommit(target, faults, text, rest)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  return { pool: { connect } as unknown as Pool, faults }
}

async function breakCommit(
  client: PoolClient,
  faults: CommitFault[],
  text: unknown,
  rest: unknown[],
): Promise<unknown> {
  const query = () => (client.query as (...args: unknown[]) => Promise<unknown>)(text, ...rest)
  const fault = text === 'commit' ? (faults.shift() ?? 'none') : 'none'
  if (fault === 'none') return query()
  if (fault === 'done') await query()
  // Preceding statements get their answers, as on a connection that breaks at this point.
  else await client.query('rollback')
  throw new Error('Connection terminated unexpectedly')
}
