import { join } from 'node:path'
import { lastLine } from '#lib/json-lines.ts'
import { checkpointFileOf, companiesOfFiles } from './checkpoint-files.ts'
import { parseStoredCheckpoint } from './checkpoint-log.ts'
import type { LedgerMark } from './installation-check.ts'
import { lastStatements } from './restored-statement.ts'

/**
 * Ledger marks from the last checkpoints in DATA_DIR: a database without them is behind. For a restored ledger the
 * statement replaces the checkpoint. Lines that are not valid are ignored here; checkpoints report them.
 */
export async function readStoredMarks(dataDir: string): Promise<LedgerMark[]> {
  const directory = join(dataDir, 'seals')
  const restored = await lastStatements(directory)
  const marks: LedgerMark[] = []
  for (const companyId of await companiesOfFiles(directory)) {
    const checkpoint = await lastCheckpoint(directory, companyId)
    const since = restored.get(companyId)?.restored_at ?? ''
    if (checkpoint && checkpoint.made_at > since)
      marks.push({ company_id: companyId, revision: checkpoint.size - 1, hash: null })
  }
  return marks
}

async function lastCheckpoint(directory: string, companyId: number) {
  try {
    const line = (await lastLine(checkpointFileOf(directory, companyId))) as { note: string; made_at: string } | null
    return line && parseStoredCheckpoint(line)
  } catch {
    return null
  }
}
