import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MovingHome } from './moving-home.ts'

/** Checkpoints of a company, and seals of 0.1: what was signed of its ledger, which goes where it goes (HOME-58). */
const filesOf = (companyId: number) => new RegExp(`^(?:resealed-)?company-${companyId}\\.(?:jsonl|checkpoints)$`)

const folderOf = ({ dataDir }: Pick<MovingHome, 'dataDir'>): string => join(dataDir, 'seals')

async function namesIn(home: Pick<MovingHome, 'dataDir'>, companyId: number): Promise<string[]> {
  const names = await readdir(folderOf(home)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => filesOf(companyId).test(name))
}

/** Copies atomically. Shards with DATA_DIR on another machine keep checkpoints in the database only. */
export async function copyFiles(
  from: Pick<MovingHome, 'dataDir'>,
  to: Pick<MovingHome, 'dataDir'>,
  companyId: number,
): Promise<void> {
  const names = await namesIn(from, companyId)
  if (names.length === 0) return
  await mkdir(folderOf(to), { recursive: true })
  for (const name of names) {
    const draft = join(folderOf(to), `${name}.draft`)
    await copyFile(join(folderOf(from), name), draft)
    await rename(draft, join(folderOf(to), name))
  }
}

export async function removeFiles(home: Pick<MovingHome, 'dataDir'>, companyId: number): Promise<void> {
  for (const name of await namesIn(home, companyId)) await rm(join(folderOf(home), name), { force: true })
}
