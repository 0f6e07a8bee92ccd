import type { Pool } from 'pg'
import { claimDatabase, registeredMasterKeys } from '#crypto/master-key-registry.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import { readSigningKey } from '#integrity/audit/signing-key.ts'
import { type Installation, installationOf } from '#integrity/proofs/installation.ts'
import { ringEntries } from '#integrity/proofs/key-ring.ts'
import type { RingEntry } from '#integrity/proofs/key-statement.ts'
import { IDS_OF_A_CELL } from '#ledger/ledgers.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { withPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'

interface Likeness {
  /** Database of the first installation. */
  readonly likeUrl: string
  readonly masterKeys: MasterKeys
  /** SEAL_KEY_FILE */
  readonly keyFile: string
}

/**
 * Makes an installation a cell beside the first one (CELL-8), before its first start: both share secrets and keys, and it has
 * company ids of its own. Repeated, it brings keys of checkpoints that were added there. @throws UnsupportedPostgres; nothing was
 * changed
 */
export async function prepareLike(pool: Pool, { likeUrl, masterKeys, keyFile }: Likeness): Promise<void> {
  await withPool(likeUrl, { max: 1, application_name: 'tillbook command' }, async (first) => {
    const [theirs, ours] = [await installationOf(first).catch(notTillbook), await installationOf(pool)]
    const ring = await ringEntries(first)
    await assertFirst(first, { theirs, ring, masterKeys, keyFile })
    await claimDatabase({ pool, keys: masterKeys, onMade: () => {} })
    if (ours.family === theirs.id && ours.id !== theirs.id) return addKeys(pool, ring)
    await assertUnused(pool, ours)
    const { rows: secrets } = await first.query<{ name: string; secret: Buffer }>(
      'select name, secret from ops.installation_secrets',
    )
    const { rows } = await first.query<{ number: number }>(`select nextval('ops.cell_numbers') as number`)
    const cell = rows[0]?.number as number
    await inTransaction(pool, async (_, client) => {
      for (const { name, secret } of secrets)
        await client.query('insert into ops.installation_secrets (name, secret) values ($1, $2)', [name, secret])
      await addKeys(client, ring)
      await client.query('update ops.installation set family = $1, cell = $2', [theirs.id, cell])
      await client.query(`select setval('ops.company_ids', $1)`, [cell * IDS_OF_A_CELL])
    })
  })
}

function notTillbook(error: unknown): never {
  if ((error as { code?: unknown }).code !== UNDEFINED_TABLE && (error as { code?: unknown }).code !== UNDEFINED_COLUMN)
    throw error
  throw new UnsupportedPostgres('--like must name the database of an installation of this version')
}

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'

/** @throws UnsupportedPostgres */
async function assertFirst(
  first: Pool,
  {
    theirs,
    ring,
    masterKeys,
    keyFile,
  }: Omit<Likeness, 'likeUrl'> & { readonly theirs: Installation; readonly ring: readonly RingEntry[] },
): Promise<void> {
  if (theirs.family !== theirs.id)
    throw new UnsupportedPostgres(
      `--like must name the database of the first installation, whose id is ${theirs.family}`,
    )
  const keys = await registeredMasterKeys(first)
  if (!keys.includes(masterKeys.all()[0]?.id ?? ''))
    throw new UnsupportedPostgres(`cells share their MASTER_KEY: give this one the master key ${keys.join(', ')}`)
  const last = ring.at(-1)
  const key = await readSigningKey(keyFile)
  if (!last)
    throw new UnsupportedPostgres(
      'the first installation has no key of checkpoints yet: run "tillbook ledger seal --all" there',
    )
  if (key?.publicKey !== last.public_key)
    throw new UnsupportedPostgres(
      `cells share their SEAL_KEY_FILE: ${keyFile} is not the key of the first installation`,
    )
}

/** @throws UnsupportedPostgres */
async function assertUnused(pool: Pool, { id, family }: Installation): Promise<void> {
  const { rows } = await pool.query<{ isUsed: boolean }>(
    `select exists (select from ops.ledgers) or exists (select from ops.seal_keys) or exists (select from ops.installation_secrets)
       or exists (select from ops.persons) as "isUsed"`,
  )
  if (rows[0]?.isUsed || family !== id)
    throw new UnsupportedPostgres('this database is in use already: a cell is prepared before its first start')
}

const addKeys = async (client: Pick<Pool, 'query'>, ring: readonly RingEntry[]): Promise<void> => {
  for (const [at, { vkey, public_key, since, signed_by, note }] of ring.entries())
    await client.query(
      `insert into ops.seal_keys (index, vkey, public_key, since, signed_by, note) values ($1, $2, $3, $4, $5, $6)
       on conflict do nothing`,
      [at, vkey, public_key, since, signed_by, note],
    )
}
