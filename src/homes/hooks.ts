import type { Pool } from 'pg'
import type { NamedUrl } from '#config/databases.ts'
import type { WhereLives } from '#ledger/follow/whereabouts.ts'
import type { Reserve } from '#ledger/write/reserve.ts'
import type { FormerEmails } from '#wiping/reactor.ts'
import { forgetEmails, type Persons } from './persons.ts'
import { createReserve } from './reserve.ts'
import { createWhereLives } from './where-lives.ts'

/** How a home tells the directory what is new before it is there, and what is forgotten; and asks whose a company is. */
export interface DirectoryHooks {
  /** A company lives here from its first event on. @throws Unavailable */
  readonly register: (companyId: number) => Promise<void>
  readonly reserve: Reserve
  readonly onForgotten: (former: readonly FormerEmails[]) => void
  /** Where what is known of logins is kept. */
  readonly logins: () => Pool
  readonly whereLives: WhereLives
}

/** `homes` are where those besides `main` are. */
export function hooksOf(over: Persons, home: string, homes: readonly NamedUrl[]): DirectoryHooks {
  const forget = (former: FormerEmails) =>
    forgetEmails(over, home, former).catch((error) =>
      over.log('the directory holds addresses that were forgotten', error),
    )
  return {
    register: (companyId) => over.directory.register(companyId, home),
    reserve: createReserve(over, home),
    logins: () => over.directory.pool,
    onForgotten: (former) => void Promise.all(former.map(forget)),
    whereLives: createWhereLives({ home, directory: over.directory, homes }),
  }
}
