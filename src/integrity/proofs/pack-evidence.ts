import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Evidence } from '#integrity/audit/pack-guide.ts'
import { projectRoot } from '#lib/project-root.ts'
import type { Database } from '#postgres/database.ts'
import { tokensOf } from '../attestors/tokens.ts'
import { newestCheckpoint } from './checkpoints.ts'
import { logInclusionOf } from './installation-log.ts'
import { ringEntries } from './key-ring.ts'

/** Verifier and format description, shipped with the program. */
const TOOLS = ['verifier/tillbook-verify.mjs', 'docs/proof.md']

/** Checkpoints read at once. */
const PAGE = 1_000

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const fileAs = (name: string, path: string): Evidence[] =>
  existsSync(path) ? [{ name, lines: () => createReadStream(path, 'utf8') }] : []

/** A ledger's checkpoints in the format of their file, up to the number of exported events. */
async function* checkpointLines(pool: Database, companyId: number, events: number): AsyncGenerator<string> {
  for (let [generation, size] = [0, 0]; ; ) {
    const { rows } = await pool.query<{ generation: number; size: number; note: string; made_at: string }>(
      `select generation, size, note, made_at from ops.ledger_checkpoints
       where company_id = $1 and (generation, size) > ($2, $3) and size <= $4 order by generation, size limit $5`,
      [companyId, generation, size, events, PAGE],
    )
    for (const { note, made_at } of rows) yield `${JSON.stringify({ note, made_at })}\n`
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    ;({ generation, size } = last)
  }
}

interface Vouched {
  /** Events that the newest checkpoint covers; null if there is none. */
  readonly covered: number | null
  /** Evidence for the first `events` events of the ledger; at least `covered`. */
  evidenceOf(events: number): Evidence[]
}

/**
 * Collects the evidence for a company's ledger. Call it before reading the ledger's head, so that the evidence covers
 * no event beyond the export.
 */
export async function packEvidence(pool: Database, companyId: number): Promise<Vouched> {
  const newest = await newestCheckpoint(pool, companyId)
  const place = await logInclusionOf(pool, companyId)
  const tokens = place ? await tokensOf(pool, place.checkpoint.size) : []
  const keys = await ringEntries(pool)
  const proofs: Evidence[] = [
    ...(keys.length > 0
      ? [{ name: 'provas/keys.jsonl', bytes: Buffer.from(keys.map((entry) => `${JSON.stringify(entry)}\n`).join('')) }]
      : []),
    ...(place ? [{ name: 'provas/lugar.tlog-proof', bytes: Buffer.from(place.proof) }] : []),
    ...(place ? [{ name: 'provas/installation.checkpoint', bytes: Buffer.from(place.checkpoint.note) }] : []),
    ...tokens
      .filter(({ kind }) => kind === 'time_stamp')
      .map(({ token }, at) => ({ name: `provas/carimbo-${at + 1}.tsr`, bytes: token })),
  ]
  return {
    covered: newest?.size ?? null,
    evidenceOf: (events) => [
      ...(newest
        ? [
            {
              name: `provas/company-${companyId}.checkpoints`,
              lines: () => checkpointLines(pool, companyId, events),
            },
          ]
        : []),
      ...proofs,
      ...TOOLS.flatMap((path) => fileAs(nameOf(path), join(projectRoot(), path))),
    ],
  }
}
