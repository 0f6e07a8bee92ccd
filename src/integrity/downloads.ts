import type { Pool } from 'pg'
import { repeat } from '#lib/background-loops.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'

const NOTED_EVERY_MS = 1_000
/** Seconds without progress after which a download counts as broken: its process has ended. */
const SILENT_SECONDS = 30

export type DownloadKind = 'audit_pack' | 'opened_audit_pack' | 'person_file'

/** A file downloaded from the panel, finished or in progress. */
export interface Download {
  readonly id: number
  readonly user_id: number
  readonly kind: DownloadKind
  /** Set for a data export of a person, as `customer/9`. */
  readonly subject: string | null
  /** UTC. */
  readonly begun_at: string
  /** Events written to an audit pack, and their total. */
  readonly done: number
  readonly total: number
  readonly state: 'running' | 'whole' | 'broken'
}

type DownloadRequest = Pick<Download, 'user_id' | 'kind' | 'subject'> & { readonly companyId: number }

/**
 * Records a download before its first byte is sent, so that none goes unrecorded, and records the outcome.
 * `work` reports progress, which is stored once a second, and returns whether the download was complete.
 */
export async function recordDownload(
  pool: Pool,
  { companyId, user_id, kind, subject }: DownloadRequest,
  work: (tell: (done: number, total: number) => void) => Promise<boolean>,
): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    'insert into ops.downloads (company_id, user_id, kind, subject) values ($1, $2, $3, $4) returning id',
    [companyId, user_id, kind, subject],
  )
  const id = rows[0]?.id
  let came: readonly [done: number, total: number] = [0, 0]
  const note = () =>
    pool.query(
      'update ops.downloads set done = $2, total = $3, seen_at = clock_timestamp() where company_id = $4 and id = $1',
      [id, ...came, companyId],
    )
  // A failed write is repeated a second later, or at the end.
  const noting = repeat(note, NOTED_EVERY_MS, () => {})
  let isWhole = false
  try {
    isWhole = await work((...how) => {
      came = how
    })
  } finally {
    await noting.stop()
    await pool.query(
      'update ops.downloads set done = $2, total = $3, ended_at = clock_timestamp(), is_whole = $4 where company_id = $5 and id = $1',
      [id, ...came, isWhole, companyId],
    )
  }
}

/** Newest first: up to `limit` downloads before an id. */
export async function listDownloads(
  reader: Reader,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Download[]> {
  const { rows } = await reader.query<Download>({
    text: `select id, user_id, kind, subject, begun_at, done, total,
       case when is_whole then 'whole'
         when is_whole is null and seen_at > clock_timestamp() - make_interval(secs => $4) then 'running'
         else 'broken' end as state
     from ${t.downloads} where company_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    values: [before, limit, SILENT_SECONDS],
  })
  return rows
}
