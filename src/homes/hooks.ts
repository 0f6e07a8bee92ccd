import type { Reserve } from '#ledger/write/reserve.ts'
import type { Persons } from './persons.ts'
import { createReserve } from './reserve.ts'

/** How a home tells the directory what is new, before it is there. */
export interface DirectoryHooks {
  /** A company lives here from its first event on. @throws Unavailable */
  readonly register: (companyId: number) => Promise<void>
  readonly reserve: Reserve
}

export const hooksOf = (over: Persons, home: string): DirectoryHooks => ({
  register: (companyId) => over.directory.register(companyId, home),
  reserve: createReserve(over, home),
})
