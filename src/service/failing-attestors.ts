import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import type { Mailer } from '#notifications/mailer.ts'

/** Hours of failures after which an operator is told. */
const TOLD_AFTER_HOURS = 24

type Failing = Pick<AttestationStatus, 'source' | 'kind' | 'host' | 'failing_since' | 'problem' | 'detail'>

/** Attestors that have failed for a day. */
export const failingForADay = (states: readonly AttestationStatus[], now: number): readonly AttestationStatus[] =>
  states.filter(
    ({ failing_since }) => failing_since !== null && now - Date.parse(failing_since) >= TOLD_AFTER_HOURS * 3_600_000,
  )

/** `witness.example/w1 (witness.example) since 2026-11-22T20:00:01.906Z: unreachable, answered 503` */
export const failureText = ({ source, host, failing_since, problem, detail }: Failing): string =>
  `${source}${host === null ? '' : ` (${host})`} since ${failing_since}: ${problem}, ${detail}`

/** Sends the operator one e-mail for each attestor that has failed for a day; a failed one is sent again (PROOF-720). */
export async function tellOperator(pool: Pool, mailer: Mailer, to: string): Promise<void> {
  const { rows } = await pool.query<Failing>(
    `update ops.attestors set told_at = clock_timestamp()
     where told_at is null and failing_since <= clock_timestamp() - make_interval(hours => $1)
     returning source, kind, host, failing_since, problem, detail`,
    [TOLD_AFTER_HOURS],
  )
  for (const failing of rows) {
    const subject = `Tillbook: no confirmation of ${failing.source}`
    const text = `No confirmation of ${failureText(failing)}\n\nIt is asked again. \`ledger attestors\` shows its state.\n`
    try {
      await mailer.send({ id: randomUUID(), to: [to], subject, text })
    } catch (error) {
      await pool.query('update ops.attestors set told_at = null where source = $1', [failing.source])
      throw error
    }
  }
}
