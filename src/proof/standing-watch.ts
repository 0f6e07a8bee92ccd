import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { installationOf } from './installation.ts'
import { lookAt, type Place, settle } from './place.ts'
import { isOfAnother, messageOf, type Trouble, troubleOf } from './standing.ts'

/** How the database of a process stands to its DATA_DIR and its event store (OPS-80). */
export interface Standing {
  /** What was wrong when it was last looked at; null: nothing. */
  trouble(): Trouble | null
  /** Whether it is a copy made on purpose, of which nothing may go out. */
  isCopy(): boolean
  /** Looks anew. */
  look(): Promise<Trouble | null>
  /** Has all three know each other, and notes in DATA_DIR where the ledgers end. Only while nothing is wrong. */
  note(): Promise<void>
}

/** Without a place, as in tests of something else, nothing is ever wrong. */
export function createStanding(place: Place | null): Standing {
  let trouble: Trouble | null = null
  let isCopy = false
  let isFirst = true
  async function look(): Promise<Trouble | null> {
    if (!place) return null
    const sight = await lookAt(place, { isWhole: isFirst || trouble !== null })
    isCopy = (await installationOf(place.pool)).is_copy
    trouble = troubleOf(sight)
    isFirst = false
    // Before it knows of anything, which would be held against DATA_DIR.
    if (trouble === null && isOfAnother(sight)) await settle(place, sight)
    return trouble
  }
  return {
    trouble: () => trouble,
    isCopy: () => isCopy,
    look,
    async note() {
      if (!place) return
      const sight = await lookAt(place, { isWhole: false })
      if (troubleOf(sight) === null) await settle(place, sight)
    },
  }
}

/** Nothing is recorded, because database, DATA_DIR and event store do not belong together, or one of them is behind (OPS-80). */
export class Held extends Unavailable {
  constructor(readonly trouble: Trouble) {
    super(messageOf(trouble))
  }
}

/** @throws Held */
export function assertFree({ trouble }: Pick<Standing, 'trouble'>): void {
  const found = trouble()
  if (found) throw new Held(found)
}

/** A writer that records nothing while something is wrong. */
export function heldWriter(writer: Writer, standing: Pick<Standing, 'trouble'>): Writer {
  return {
    idle: writer.idle,
    async run(request) {
      assertFree(standing)
      return writer.run(request)
    },
  }
}
