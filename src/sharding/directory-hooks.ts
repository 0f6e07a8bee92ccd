import type { Pool } from 'pg'
import type { NamedUrl } from '#config/databases.ts'
import type { ResolvePlacement } from '#ledger/follow/placement.ts'
import type { NameReserver } from '#ledger/write/name-reservation.ts'
import type { FormerEmails } from '#privacy/erasure-reactor.ts'
import { createNameReserver } from './name-reservation.ts'
import { forgetEmails, type PersonDirectory } from './persons.ts'
import { createPlacementResolver } from './placement.ts'

/** Hooks by which a shard registers new entries before they exist, removes erased ones, and resolves placements. */
export interface DirectoryHooks {
  /** Places a new company on this shard, from its first event on. @throws Unavailable */
  readonly register: (companyId: number) => Promise<void>
  readonly reserve: NameReserver
  readonly onForgotten: (former: readonly FormerEmails[]) => void
  /** Database of login limits. */
  readonly logins: () => Pool
  readonly resolvePlacement: ResolvePlacement
}

/** `shards` are the additional shards. */
export function createDirectoryHooks(
  over: PersonDirectory,
  shard: string,
  shards: readonly NamedUrl[],
): DirectoryHooks {
  const forget = (former: FormerEmails) =>
    forgetEmails(over, shard, former).catch((error) =>
      over.log('directory: addresses of erased users were not removed', error),
    )
  return {
    register: (companyId) => over.directory.register(companyId, shard),
    reserve: createNameReserver(over, shard),
    logins: () => over.directory.pool,
    onForgotten: (former) => void Promise.all(former.map(forget)),
    resolvePlacement: createPlacementResolver({ shard, directory: over.directory, shards }),
  }
}
