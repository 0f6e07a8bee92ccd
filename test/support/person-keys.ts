import type { Pool } from 'pg'
import { personKeys } from '#ledger/sealed-fields.ts'
import { createPool } from '#postgres/pool.ts'

const COLUMNS = Object.keys(personKeys.columns).join(', ')

/** Copies person keys and the ids of their master keys from one database to another, like a restore. */
export async function copyKeys(from: string, to: string): Promise<void> {
  const [source, target] = [from, to].map((url) => createPool(url, { max: 1 })) as [Pool, Pool]
  try {
    const { rows } = await source.query<{ keys: string }>(
      `select coalesce(json_agg(k), '[]')::text as keys from ops.person_keys k`,
    )
    const masters = await source.query<{ id: Buffer }>('select id from ops.master_keys')
    for (const { id } of masters.rows)
      await target.query('insert into ops.master_keys (id) values ($1) on conflict do nothing', [id])
    await target.query(
      `insert into ops.person_keys (${COLUMNS})
       select ${COLUMNS} from json_populate_recordset(null::ops.person_keys, $1::json)`,
      [rows[0]?.keys],
    )
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}

/** Copies the missing keys of one company from another database. */
export async function addKeys(from: string, to: string, companyId: number): Promise<void> {
  const [source, target] = [from, to].map((url) => createPool(url, { max: 1 })) as [Pool, Pool]
  try {
    const { rows } = await source.query<{ keys: string }>(
      `select coalesce(json_agg(k), '[]')::text as keys from ops.person_keys k where company_id = $1`,
      [companyId],
    )
    await insertKeys(target, rows[0]?.keys)
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}

const insertKeys = (pool: Pool, keys: string | undefined) =>
  pool.query(
    `insert into ops.person_keys (${COLUMNS})
     select ${COLUMNS} from json_populate_recordset(null::ops.person_keys, $1::json) on conflict do nothing`,
    [keys],
  )

/** Removes all keys of a company's customers. Returns a function that restores them. */
export async function loseKeys(url: string, companyId: number): Promise<() => Promise<void>> {
  const withPool = async <T>(work: (pool: Pool) => Promise<T>): Promise<T> => {
    const pool = createPool(url, { max: 1 })
    return work(pool).finally(() => pool.end())
  }
  const keys = await withPool(async (pool) => {
    const { rows } = await pool.query<{ keys: string }>(
      `with lost as (delete from ops.person_keys where company_id = $1 and subject like 'customer/%' returning *)
       select coalesce(json_agg(lost), '[]')::text as keys from lost`,
      [companyId],
    )
    return rows[0]?.keys
  })
  return () => withPool(async (pool) => void (await insertKeys(pool, keys)))
}
