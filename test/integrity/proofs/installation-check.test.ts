import { expect } from 'chai'
import { type Inconsistency, type InstallationView, inconsistencyOf } from '#integrity/proofs/installation-check.ts'

const OURS = '0198a000-0000-4000-8000-000000000001'
const THEIRS = '0198a000-0000-4000-8000-000000000002'
const MARK = { company_id: 1, revision: 9, hash: null }

type Parts = {
  [P in keyof InstallationView]?: InstallationView[P] extends object | null
    ? Partial<NonNullable<InstallationView[P]>> | null
    : InstallationView[P]
}

/** All three match, except for these parts. */
function sight({ database, store, ...rest }: Parts): InstallationView {
  const own = { id: OURS, event_store: null, shard: 'a/1/5', isRestoring: false, hasLedgers: true }
  const outside = { address: 'store:2113', id: OURS, isEmpty: false, missing: [] }
  return {
    database: { ...own, ...database },
    shard: 'a/1/5',
    directory: OURS,
    missing: [],
    store: store ? { ...outside, ...store } : null,
    ...(rest as Partial<InstallationView>),
  }
}

const CASES: readonly [why: string, parts: Parts, trouble: Inconsistency | null][] = [
  ['all is as it was', {}, null],
  ['a machine joins with a new DATA_DIR', { directory: null }, null],
  ['a database that was moved beside its DATA_DIR', { shard: 'b/1/7' }, null],
  ['Postgres does not tell where it is', { directory: null, shard: null }, null],
  ['nothing was ever noted, as after an upgrade', { directory: null, database: { shard: null } }, null],
  ['a copied database beside a new DATA_DIR', { directory: null, shard: 'b/1/7' }, 'copied'],
  ['a standby was promoted, and DATA_DIR is new', { directory: null, shard: 'a/2/5' }, 'copied'],
  ['a copied database beside the DATA_DIR of another', { directory: THEIRS }, 'directory_of_another'],
  ['an empty database beside the DATA_DIR of another', { directory: THEIRS, database: { hasLedgers: false } }, null],
  ['events that DATA_DIR has noted are gone', { missing: [MARK] }, 'behind'],
  ['a restore was not recorded to its end', { database: { isRestoring: true }, missing: [MARK] }, 'restoring'],
  [
    'a restore to a copy was not recorded to its end',
    { database: { isRestoring: true }, directory: THEIRS },
    'restoring',
  ],
  ['EVENTSTORE_URL is forgotten', { database: { event_store: 'store:2113' } }, 'event_store_forgotten'],
  ['its own store', { database: { event_store: 'store:2113' }, store: {} }, null],
  ['its own store at another address', { database: { event_store: 'former:2113' }, store: {} }, null],
  ['a store that ledgers were copied to before it was told whose it is', { store: { id: null } }, null],
  ['an empty store beside a database with ledgers', { store: { id: null, isEmpty: true } }, 'event_store_empty'],
  ['its own store, emptied', { store: { isEmpty: true } }, 'event_store_empty'],
  ['a store of others', { store: { id: THEIRS } }, 'event_store_of_another'],
  ['a store that was restored', { store: { missing: [MARK] } }, 'event_store_behind'],
  [
    'a new installation',
    { directory: null, database: { hasLedgers: false }, store: { id: null, isEmpty: true } },
    null,
  ],
  [
    'an empty Postgres beside an old store',
    { directory: null, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
  [
    'the same with the DATA_DIR of then',
    { directory: THEIRS, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
]

describe('installation check of database, DATA_DIR and event store', () => {
  for (const [why, parts, trouble] of CASES)
    it(`${why}: ${trouble ?? 'nothing is wrong'} [OPS-80]`, () => {
      expect(inconsistencyOf(sight(parts))).to.equal(trouble)
    })
})
