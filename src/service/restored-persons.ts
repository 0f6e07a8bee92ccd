import type { Pool } from 'pg'
import type { Config } from '#config/config.ts'
import { createErasureList, type ErasureList } from '#privacy/erasure-list.ts'
import { eraseRestoredPersons } from '#privacy/restored-persons.ts'
import type { Log } from './log.ts'
import type { RunningRole, SharedServices } from './role.ts'

/** Opens the list of erased persons before the database is open; the first `sync` finds entries noted until then. */
export function openErasureList({ DATA_DIR: dataDir }: Pick<Config, 'DATA_DIR'>, log: Log) {
  let list: ErasureList | null = null
  const onError = (error: unknown) => log('the list of who was forgotten could not be written', error)
  return {
    note: () => list?.note(),
    open(pool: Pool): ErasureList {
      list = createErasureList({ pool, dataDir, onError })
      return list
    },
  }
}

/**
 * Repeats erasures that a restored backup has undone, before any request is answered (PRIV-41). Stops with the rest of
 * `background`.
 */
export function eraseRestoredOnStart(
  { config, core, forgottenList: list, logger, log }: SharedServices,
  background: RunningRole[],
): Promise<void> {
  const stopping = new AbortController()
  background.push({ stop: async () => stopping.abort() })
  const { pool, writerAfterRestore: writer, installationCheck } = core
  // The list belongs to another installation, where the same ids denote other persons.
  if (installationCheck.inconsistency() === 'directory_of_another') return Promise.resolve()
  const retentionYears = config.RETENTION_YEARS
  const onForgotten = (company_id: number, subject: string) =>
    logger.warn({ company_id, subject }, 'privacy: person from a restored backup erased again')
  const onError = (error: unknown) => log('privacy: persons from a restored backup not erased yet, will retry', error)
  return eraseRestoredPersons({ pool, writer, list, retentionYears, onForgotten, onError }, stopping.signal)
}
