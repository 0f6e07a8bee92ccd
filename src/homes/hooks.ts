import type { Pool } from 'pg'
import type { NamedUrl } from '#config/databases.ts'
import type { WhereLives } from '#ledger/follow/whereabouts.ts'
import type { Reserve } from '#ledger/write/reserve.ts'
import type { FormerEmails } from '#wiping/reactor.ts'
import { forgetEmails, type Persons } from './persons.ts'
import { createReserve } from './reserve.ts'
import { createWhereLives } from './where-lives.ts'

/** Hooks by which a shard registers new entries before they exist, removes erased ones, and resolves placements. */
export interface DirectoryHooks {
  /** Places a new company on this shard, from its first event on. @throws Unavailable */
  readonly register: (companyId: number) => Promise<void>
  readonly reserve: Reserve
  readonly onForgotten: (former: readonly FormerEmails[]) => void
  /** Database of login limits. */
  readonly logins: () => Pool
  readonly whereLives: WhereLives
}

/** `homes` are the additional shards. */
export function hooksOf(over: Persons, home: string, homes: readonly NamedUrl[]): DirectoryHooks {
  const forget = (former: FormerEmails) =>
    forgetEmails(over, home, former).catch((error) =>
      over.log('directory: addresses of erased users were not removed', error),
    )
  return {
    register: (companyId) => over.directory.register(companyId, home),
    reserve: createReserve(over, home),
    logins: () => over.directory.pool,
    onForgotten: (former) => void Promise.all(former.map(forget)),
    whereLives: createWhereLives({ home, directory: over.directory, homes }),
  }
}
