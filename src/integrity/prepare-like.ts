import type { Pool } from 'pg'
import { claimDatabase, registeredMasterKeys } from '#crypto/master-key-registry.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import { IDS_OF_A_CELL } from '#ledger/ledgers.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import { withPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { type RingEntry, ringEntries } from './checkpoint-keys.ts'
import { type Installation, loadInstallation } from './installation.ts'
import { readSigningKey } from './note.ts'

interface Likeness {
  /** Database of the first installation. */
  readonly likeUrl: string
  readonly masterKeys: MasterKeys
  /** SEAL_KEY_FILE */
  readonly keyFile: string
}

/**
 * Makes an installation a cell beside the first one, before its first start: both share secrets and keys, and it has
 * company ids of its own. Repeated, it brings keys of checkpoints that were added there. @throws UnsupportedPostgres; nothing was
 * changed
 */
export async function prepareLike(pool: Pool, { likeUrl, masterKeys, keyFile }: Likeness): Promise<void> {
  await withPool(likeUrl, { max: 1, application_name: 'tillbook command' }, async (first) => {
    const theirs = await loadInstallation(first).catch(notTillbook)
    const ring = await ringEntries(first)
    await assertFirst(first, { theirs, ring, masterKeys, keyFile })
    await claimDatabase({ pool, keys: masterKeys, onMade: () => {} })
    const ours = await loadInstallation(pool)
    await inTransaction(pool, async (_, client) => {
      if (ours.id === theirs.id || ours.family !== theirs.id) await join(client, first, { theirs, ours })
      await client.query(
        'insert into ops.checkpoint_keys select * from json_populate_recordset(null::ops.checkpoint_keys, $1) on conflict do nothing',
        [JSON.stringify(ring.map((entry, index) => ({ index, ...entry })))],
      )
    })
  })
}

type Installations = Readonly<Record<'theirs' | 'ours', Installation>>

/** @throws UnsupportedPostgres if the database is in use */
async function join(client: Queryable, first: Pool, { theirs, ours }: Installations): Promise<void> {
  const { rows } = await client.query<{ isUsed: boolean }>(
    `select exists (select from ops.ledgers) or exists (select from ops.checkpoint_keys) or exists (select from ops.installation_secrets)
       or exists (select from ops.persons) as "isUsed"`,
  )
  if (rows[0]?.isUsed || ours.family !== ours.id)
    throw new UnsupportedPostgres('this database is in use already: a cell is prepared before its first start')
  const secrets = await first.query<{ name: string; secret: Buffer }>(
    'select name, secret from ops.installation_secrets',
  )
  for (const { name, secret } of secrets.rows)
    await client.query('insert into ops.installation_secrets (name, secret) values ($1, $2)', [name, secret])
  const numbers = await first.query<{ cell: number }>(`select nextval('ops.cell_numbers') as cell`)
  const cell = numbers.rows[0]?.cell as number
  await client.query('update ops.installation set family = $1, cell = $2', [theirs.id, cell])
  await client.query(`select setval('ops.company_ids', $1)`, [cell * IDS_OF_A_CELL])
}

/** Undefined table, undefined column. */
const OTHER_TABLES = ['42P01', '42703']

function notTillbook(error: unknown): never {
  if (!OTHER_TABLES.includes(String((error as { code?: unknown }).code))) throw error
  throw new UnsupportedPostgres('--like must name the database of an installation of this version')
}

interface First extends Omit<Likeness, 'likeUrl'> {
  readonly theirs: Installation
  readonly ring: readonly RingEntry[]
}

/** @throws UnsupportedPostgres */
async function assertFirst(first: Pool, { theirs, ring, masterKeys, keyFile }: First): Promise<void> {
  const known = await registeredMasterKeys(first)
  const key = await readSigningKey(keyFile)
  const obstacles = [
    theirs.family !== theirs.id &&
      `--like must name the database of the first installation, whose id is ${theirs.family}`,
    !known.includes(masterKeys.all()[0]?.id ?? '') &&
      `cells share their MASTER_KEY: give this one the master key ${known.join(', ')}`,
    ring.length === 0 && 'the first installation has no key of checkpoints yet: run "tillbook ledger seal --all" there',
    key?.publicKey !== ring.at(-1)?.public_key &&
      `cells share their SEAL_KEY_FILE: ${keyFile} is not the key of the first installation`,
  ]
  for (const message of obstacles) if (message) throw new UnsupportedPostgres(message)
}
