import pg from 'pg'
import { longestTurn } from './turns-taken.ts'

/** Work of this process. */
export interface Load {
  /** Rows that it got from Postgres, and their bytes. */
  readonly rows: number
  readonly bytes: number
  /** Longest CPU time of the JavaScript thread between two turns of the event loop, in ms. */
  readonly longestTurn_ms: number
}

interface DataRow {
  readonly length: number
}
/** Called by the driver for each row; missing in its types. */
type Rows = { handleDataRow(message: DataRow): unknown }

/** Runs `act` and measures the work of this process meanwhile, including background work. */
export async function loadOf<T>(act: () => Promise<T>): Promise<{ readonly result: T; readonly load: Load }> {
  const queries = (pg as unknown as { Query: { prototype: Rows } }).Query.prototype
  const { handleDataRow } = queries
  let [rows, bytes] = [0, 0]
  queries.handleDataRow = function (this: Rows, message) {
    rows += 1
    bytes += message.length
    return handleDataRow.call(this, message)
  }
  try {
    let result!: T
    const longestTurn_ms = await longestTurn(async () => {
      result = await act()
    })
    return { result, load: { rows, bytes, longestTurn_ms } }
  } finally {
    queries.handleDataRow = handleDataRow
  }
}
