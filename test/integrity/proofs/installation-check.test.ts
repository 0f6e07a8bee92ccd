import { expect } from 'chai'
import { type Inconsistency, type InstallationView, inconsistencyOf } from '#integrity/installation-check.ts'

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
  const own = { id: OURS, event_store: null, identity: 'a/1/5', isRestoring: false, hasLedgers: true }
  const outside = { address: 'store:2113', id: OURS, isEmpty: false, missing: [] }
  return {
    database: { ...own, ...database },
    identity: 'a/1/5',
    directory: OURS,
    missing: [],
    store: store ? { ...outside, ...store } : null,
    ...(rest as Partial<InstallationView>),
  }
}

const CASES: readonly [why: string, parts: Parts, inconsistency: Inconsistency | null][] = [
  ['nothing has changed', {}, null],
  ['another machine with a new DATA_DIR', { directory: null }, null],
  ['a moved database with its DATA_DIR', { identity: 'b/1/7' }, null],
  ['a Postgres that does not reveal its location', { directory: null, identity: null }, null],
  ['no recorded location, as after an upgrade', { directory: null, database: { identity: null } }, null],
  ['a copied database with a new DATA_DIR', { directory: null, identity: 'b/1/7' }, 'copied'],
  ['a promoted replica with a new DATA_DIR', { directory: null, identity: 'a/2/5' }, 'copied'],
  ['a copied database with the DATA_DIR of another installation', { directory: THEIRS }, 'directory_of_another'],
  [
    'an empty database with the DATA_DIR of another installation',
    { directory: THEIRS, database: { hasLedgers: false } },
    null,
  ],
  ['missing events that DATA_DIR has recorded', { missing: [MARK] }, 'behind'],
  ['an interrupted record of a restore', { database: { isRestoring: true }, missing: [MARK] }, 'restoring'],
  ['an interrupted record of a restore to a copy', { database: { isRestoring: true }, directory: THEIRS }, 'restoring'],
  ['a missing EVENTSTORE_URL', { database: { event_store: 'store:2113' } }, 'event_store_forgotten'],
  ['its own store', { database: { event_store: 'store:2113' }, store: {} }, null],
  ['its own store at another address', { database: { event_store: 'former:2113' }, store: {} }, null],
  ['a store with copied ledgers and no installation id yet', { store: { id: null } }, null],
  ['an empty store with a database with ledgers', { store: { id: null, isEmpty: true } }, 'event_store_empty'],
  ['its own store, emptied', { store: { isEmpty: true } }, 'event_store_empty'],
  ['a store of another installation', { store: { id: THEIRS } }, 'event_store_of_another'],
  ['a restored store', { store: { missing: [MARK] } }, 'event_store_behind'],
  [
    'a new installation',
    { directory: null, database: { hasLedgers: false }, store: { id: null, isEmpty: true } },
    null,
  ],
  [
    'an empty Postgres with an old store',
    { directory: null, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
  [
    'an empty Postgres with an old store and its DATA_DIR',
    { directory: THEIRS, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
]

describe('installation check of database, DATA_DIR and event store', () => {
  for (const [why, parts, inconsistency] of CASES)
    it(`${why}: ${inconsistency ?? 'nothing is wrong'} [OPS-80]`, () => {
      expect(inconsistencyOf(sight(parts))).to.equal(inconsistency)
    })
})
