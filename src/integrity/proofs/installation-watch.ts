import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { installationOf } from './installation.ts'
import { type Inconsistency, inconsistencyMessage, inconsistencyOf, isOfAnother } from './installation-check.ts'
import { type InstallationFile, readInstallation, settleInstallation } from './installation-file.ts'

/** How the database of a process stands to its DATA_DIR and its event store (OPS-80). */
export interface InstallationCheck {
  /** What was wrong when it was last looked at; null: nothing. */
  trouble(): Inconsistency | null
  /** Whether it is a copy made on purpose, of which nothing may go out. */
  isCopy(): boolean
  /** Looks anew. */
  look(): Promise<Inconsistency | null>
  /** Has all three know each other, and notes in DATA_DIR where the ledgers end. Only while nothing is wrong. */
  note(): Promise<void>
}

/** Without a place, as in tests of something else, nothing is ever wrong. */
export function createInstallationCheck(place: InstallationFile | null): InstallationCheck {
  let trouble: Inconsistency | null = null
  let isCopy = false
  let isFirst = true
  async function look(): Promise<Inconsistency | null> {
    if (!place) return null
    const sight = await readInstallation(place, { isWhole: isFirst || trouble !== null })
    isCopy = (await installationOf(place.pool)).is_copy
    trouble = inconsistencyOf(sight)
    isFirst = false
    // Before it knows of anything, which would be held against DATA_DIR.
    if (trouble === null && isOfAnother(sight)) await settleInstallation(place, sight)
    return trouble
  }
  return {
    trouble: () => trouble,
    isCopy: () => isCopy,
    look,
    async note() {
      if (!place) return
      const sight = await readInstallation(place, { isWhole: false })
      if (inconsistencyOf(sight) === null) await settleInstallation(place, sight)
    },
  }
}

/** Nothing is recorded, because database, DATA_DIR and event store do not belong together, or one of them is behind (OPS-80). */
export class WritesBlocked extends Unavailable {
  constructor(readonly trouble: Inconsistency) {
    super(inconsistencyMessage(trouble))
  }
}

/** @throws Held */
export function assertConsistent({ trouble }: Pick<InstallationCheck, 'trouble'>): void {
  const found = trouble()
  if (found) throw new WritesBlocked(found)
}

/** A writer that records nothing while something is wrong. */
export function blockableWriter(writer: Writer, standing: Pick<InstallationCheck, 'trouble'>): Writer {
  return {
    idle: writer.idle,
    async run(request) {
      assertConsistent(standing)
      return writer.run(request)
    },
  }
}
