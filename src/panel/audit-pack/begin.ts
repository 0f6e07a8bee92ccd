import { formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import type { PackWanted, PackWords } from '#integrity/audit/pack-guide.ts'
import { headOf } from '#integrity/audit/verify.ts'
import { packEvidence } from '#integrity/proofs/pack-evidence.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'
import type { Database } from '#postgres/database.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import { eventName, ORIGINS, subjectName } from '../words/events.ts'

const wordsAt = (timezone: string): PackWords => ({
  eventName,
  subjectName,
  originName: (origin) => ORIGINS[origin],
  timeOf: (recorded_at) => formatDateTimeSeconds(recorded_at, timezone),
})

interface PackSource {
  readonly pool: Database
  readonly proof: Pick<ProofServices, 'checkpointOf'>
}

interface PackRequest {
  readonly isOpened: boolean
  /** UTC. */
  readonly now: string
}

/** Starts an audit pack up to the company's last event, with a checkpoint of it if one can be made (AUDIT-22). */
export async function beginPack(
  { pool, proof }: PackSource,
  companyId: number,
  { isOpened, now }: PackRequest,
): Promise<PackWanted> {
  const { rows } = await pool.query<{ name: string; timezone: string }>(
    `select ${MASKED_NAME} as name, c.timezone from companies c where c.company_id = $1`,
    [companyId],
  )
  const { name = '', timezone = 'UTC' } = rows[0] ?? {}
  // If no checkpoint can be made, for example because the ledger was altered, the pack uses the last one.
  await proof.checkpointOf(companyId, (await headOf(pool, companyId)).revision + 1).catch(() => null)
  const { covered, evidenceOf } = await packEvidence(pool, companyId)
  const head = await headOf(pool, companyId)
  const evidence = evidenceOf(head.revision + 1)
  return { companyId, companyName: name, head, covered, isOpened, evidence, words: wordsAt(timezone), now }
}
