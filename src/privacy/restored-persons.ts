import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { forgetPerson } from '#commands/people/forget-person.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import { isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { retry } from '#lib/retry.ts'
import type { ErasureList, ForgottenKey } from './erasure-list.ts'

interface Forgetting {
  readonly pool: Pool
  readonly writer: Writer
  readonly list: ErasureList
  readonly retentionYears: number
  /** Called for each person who is erased again. */
  readonly onForgotten: (companyId: number, subject: string) => void
  readonly onError: (error: unknown) => void
}

/**
 * Repeats erasures that a restored backup has undone (PRIV-41): for persons on the list if their key is the destroyed one,
 * or if they existed before its destruction. Retries while writes are blocked; resolves when none is left.
 */
export const eraseRestoredPersons = (forgetting: Forgetting, signal: AbortSignal): Promise<void> =>
  retry(signal, () => forgetOnce(forgetting), forgetting.onError)

/** A failure for one person does not stop the erasure of others. */
async function forgetOnce(forgetting: Forgetting): Promise<'done'> {
  const { pool, list, onForgotten } = forgetting
  const failures: unknown[] = []
  for (const restored of await findRestored(pool, await list.read())) {
    try {
      await forgetAgain(forgetting, restored)
      onForgotten(restored.companyId, restored.subject)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  await list.sync()
  return 'done'
}

async function forgetAgain(
  { writer, retentionYears }: Forgetting,
  { companyId, subject, parts }: Restored,
): Promise<void> {
  const { type, id } = parseSubject(subject)
  const answer = await runAsSystem(writer, companyId, forgetPerson, {
    kind: type as 'customer',
    id,
    ground: 'restored_backup',
    // If only a part was erased, the law requires the rest to be kept.
    queue: !parts.includes('identity'),
    retention_years: retentionYears,
  })
  if (isRefusal(answer)) throw new Error(`${subject} of company ${companyId} cannot be forgotten: ${answer.refused}`)
}

interface Restored {
  readonly companyId: number
  readonly subject: string
  readonly parts: readonly PersonPart[]
}

/** Customers first; their erasure includes their orders. */
async function findRestored(pool: Pool, listed: readonly ForgottenKey[]): Promise<readonly Restored[]> {
  if (listed.length === 0) return []
  const { rows } = await pool.query<Restored>({
    ...FIND_RESTORED,
    values: [
      listed.map(({ company_id }) => company_id),
      listed.map(({ subject }) => parseSubject(subject).type),
      listed.map(({ subject }) => parseSubject(subject).id),
      listed.map(({ part }) => part),
      listed.map(({ key }) => key),
      listed.map(({ at }) => at),
    ],
  })
  return rows
}

/**
 * Since the restore an id may have been assigned to another person. That record is younger than the list's entry.
 */
const FIND_RESTORED = {
  name: 'find_restored_persons',
  text: `
select listed.company_id as "companyId", kind || '/' || listed.id as subject, array_agg(distinct listed.part) as parts
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[])
    as listed(company_id, kind, id, part, key, at)
  join lateral (
    select doc from customers where kind = 'customer' and company_id = listed.company_id and id = listed.id
    union all select doc from suppliers where kind = 'supplier' and company_id = listed.company_id and id = listed.id
    union all select doc from users where kind = 'user' and company_id = listed.company_id and id = listed.id
    union all select doc from orders where kind = 'order' and company_id = listed.company_id and id = listed.id
  ) as record on true
  left join person_keys k on k.company_id = listed.company_id and k.subject = kind || '/' || listed.id and k.part = listed.part
where ${recordsEvents('listed.company_id')} and (k.key_id is null or k.wrapped is not null)
  and (encode(sha256(k.key_id::text::bytea), 'hex') = listed.key or (record.doc ->> 'created_at')::timestamptz <= listed.at)
group by listed.company_id, kind, listed.id
order by listed.company_id, kind, listed.id`,
}
