import { existsSync } from 'node:fs'
import { copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { checkpointFileOf, sealDirectoryOf } from '#integrity/proofs/checkpoint-files.ts'
import type { MigratingShard } from './migrating-shard.ts'

/** Checkpoints of a company: what was signed of its ledger, which goes where it goes (SHARD-58). */
const fileOf = ({ dataDir }: Pick<MigratingShard, 'dataDir'>, companyId: number): string =>
  checkpointFileOf(sealDirectoryOf({ DATA_DIR: dataDir }), companyId)

/** Copies atomically. Shards with DATA_DIR on another machine keep checkpoints in the database only. */
export async function copyCheckpoints(
  from: Pick<MigratingShard, 'dataDir'>,
  to: Pick<MigratingShard, 'dataDir'>,
  companyId: number,
): Promise<void> {
  const [source, target] = [fileOf(from, companyId), fileOf(to, companyId)]
  if (!existsSync(source)) return
  await mkdir(dirname(target), { recursive: true })
  await copyFile(source, `${target}.draft`)
  await rename(`${target}.draft`, target)
}

export const removeCheckpoints = (shard: Pick<MigratingShard, 'dataDir'>, companyId: number): Promise<void> =>
  rm(fileOf(shard, companyId), { force: true })
