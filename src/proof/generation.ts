import type { PoolClient } from 'pg'
import { mappingFileOf, NoMapping, readMapping } from '#audit/reseal-mapping.ts'
import type { Anchor } from '#audit/walk.ts'
import { lastKept, ledgerCheckpoints } from './kept-checkpoints.ts'
import type { KnownRing } from './key-ring.ts'
import { appenderFrom, leafHash, type TreeHead } from './merkle.ts'
import { lastSeal, SealAltered, SealMissing } from './seals-kept.ts'

type Client = Pick<PoolClient, 'query'>

/** A company's present log. */
export interface Generation {
  /** Counts from 1: a ledger that was written anew is another log. */
  readonly number: number
  /** What its first checkpoint has to go through. @throws SealAltered when what vouches for it is not genuine. */
  anchors(client: Client, ring: KnownRing): Promise<readonly Anchor[]>
}

/** A ledger is in its second generation once it was resealed. */
export async function generationOf(client: Client, directory: string, companyId: number): Promise<Generation> {
  const { rowCount } = await client.query('select from ops.resealed_ledgers where company_id = $1', [companyId])
  if (rowCount === 0) return { number: 1, anchors: (_, ring) => sealedBefore(directory, companyId, ring) }
  return {
    number: 2,
    async anchors(client, ring) {
      const { last } = await lastKept(client, ledgerCheckpoints(ring, directory, companyId, 1), ring)
      return throughMapping({ directory, companyId, ring, before: last })
    },
  }
}

/** The last seal of 0.1, by a key of the ring. */
async function sealedBefore(directory: string, companyId: number, { known }: KnownRing): Promise<readonly Anchor[]> {
  const seal = await lastSeal(directory, companyId)
  if (!seal) return []
  if (known.some(({ publicKey }) => publicKey === seal.public_key)) return [seal]
  throw new SealAltered(`the last seal of company ${companyId} was made with a key that nobody knows`)
}

interface Mapped {
  readonly directory: string
  readonly companyId: number
  readonly ring: KnownRing
  /** The last checkpoint of the ledger before. */
  readonly before: TreeHead | null
}

/** The ledger before has to be the one that was sealed, and the one since the one that it became. */
async function throughMapping({ directory, companyId, ring, before }: Mapped): Promise<readonly Anchor[]> {
  const [seal] = await sealedBefore(directory, companyId, ring)
  const appender = appenderFrom()
  let isSame = before === null
  const see = (hash: string) => {
    appender.append(leafHash(Buffer.from(hash, 'hex')))
    if (appender.size === before?.size) isSame = appender.root().equals(before.root)
  }
  const trusted = ring.known.map(({ publicKey }) => publicKey)
  const mapping = await readMapping(mappingFileOf(directory, companyId), trusted, seal ? [seal] : [], see).catch(
    (error: unknown) => {
      if (error instanceof NoMapping) throw new SealAltered(`the mapping of company ${companyId} was altered`)
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      throw new SealMissing(`the mapping of company ${companyId} is missing in ${directory}`)
    },
  )
  if (!isSame || mapping.company_id !== companyId || (seal && mapping.known.length === 0))
    throw new SealAltered(`the mapping of company ${companyId} is not that of the ledger that was sealed`)
  return [{ revision: mapping.revision, hash: mapping.new_hash }]
}
