import { Unavailable } from '#lib/errors.ts'
import { installationOf } from './installation.ts'
import {
  adoptsLedgers,
  type Inconsistency,
  inconsistencyMessage,
  inconsistencyOf,
  isOfAnother,
} from './installation-check.ts'
import { type InstallationFile, readInstallation, settleInstallation } from './installation-file.ts'

/** Consistency of the process's database, DATA_DIR and event store (OPS-80). */
export interface InstallationCheck {
  /** Result of the last check; null if consistent. */
  inconsistency(): Inconsistency | null
  /** Whether this is a deliberate copy, which sends nothing to the outside. */
  isCopy(): boolean
  /** Runs the check again. */
  look(): Promise<Inconsistency | null>
  /** Records the installation in all three, and the ledger heads in DATA_DIR. Only while they are consistent. */
  note(): Promise<void>
}

/** Without files to check, as in unrelated tests, it always reports consistency. */
export function createInstallationCheck(place: InstallationFile | null): InstallationCheck {
  let inconsistency: Inconsistency | null = null
  let isCopy = false
  let isFirst = true
  async function look(): Promise<Inconsistency | null> {
    if (!place) return null
    const sight = await readInstallation(place, { isWhole: isFirst || inconsistency !== null })
    isCopy = (await installationOf(place.pool)).is_copy
    inconsistency = inconsistencyOf(sight)
    isFirst = false
    // Must run before the database has events; after that the check would report another installation's files.
    if (inconsistency === null && (isOfAnother(sight) || adoptsLedgers(sight))) await settleInstallation(place, sight)
    return inconsistency
  }
  return {
    inconsistency: () => inconsistency,
    isCopy: () => isCopy,
    look,
    async note() {
      if (!place) return
      const sight = await readInstallation(place, { isWhole: false })
      if (inconsistencyOf(sight) === null) await settleInstallation(place, sight)
    },
  }
}

/** Writes are blocked because database, DATA_DIR and event store do not match, or one of them is behind (OPS-80). */
export class WritesBlocked extends Unavailable {
  constructor(readonly inconsistency: Inconsistency) {
    super(inconsistencyMessage(inconsistency))
  }
}

/** @throws WritesBlocked */
export function assertConsistent({ inconsistency }: Pick<InstallationCheck, 'inconsistency'>): void {
  const found = inconsistency()
  if (found) throw new WritesBlocked(found)
}
