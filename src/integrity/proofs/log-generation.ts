import type { Anchor } from '#integrity/audit/chain-walk.ts'
import type { Queryable } from '#postgres/database.ts'
import { CheckpointAltered } from './checkpoint-files.ts'
import { type KnownRing, verifierKeysOf } from './key-ring.ts'
import { type KeptStatement, openRestored, parseRestored, restoredNameOf, statementsOf } from './restored-statement.ts'

type Client = Queryable

/** A company's present log. */
export interface Generation {
  /** Counts from 1. A restore that lost sealed events starts another log. */
  readonly number: number
  /** Anchors of its first checkpoint. @throws CheckpointAltered if the restore statement is not genuine. */
  anchors(ring: KnownRing): readonly Anchor[]
}

/** Each restore that lost sealed events adds a generation. */
export async function generationOf(client: Client, directory: string, companyId: number): Promise<Generation> {
  const losses = (await statementsOf(client, directory, companyId)).filter(({ note }) => isLoss(note))
  const last = losses.at(-1)
  return { number: 1 + losses.length, anchors: (ring) => (last ? [throughStatement(last, ring)] : []) }
}

/** Whether the restore lost the last sealed event, but not the whole ledger. */
function isLoss(note: string): boolean {
  const said = parseRestored(note)
  return said?.since != null && said.since.origin !== said.before.origin
}

/** @throws CheckpointAltered */
function throughStatement({ company_id, note }: KeptStatement, ring: KnownRing): Anchor {
  const said = openRestored(note, verifierKeysOf(ring, restoredNameOf(ring.installationId)))
  if (said?.company_id !== company_id || !said.since || said.hash === null)
    throw new CheckpointAltered(
      `the statement of company ${company_id}'s restore is not one that a known key has signed`,
    )
  return { revision: said.since.size - 1, hash: said.hash }
}
