/**
 * The folders of the product, lowest first: a file imports, types included, from its own folder and from folders before it
 * in this list, never from one after it. `npm run check:boundaries` fails otherwise. docs/ARCHITECTURE.md shows this list.
 */
exports.FOLDERS = [
  [
    'src/domain',
    'values and pure rules: money, quantities, instants, tax numbers, scopes, refusals, what becomes of an order and who gets its money',
  ],
  ['src/lib', 'tools without a business: turns and room shared by key, memory budget, slices, retry, repeat, files'],
  ['src/background', 'mechanisms of work that runs by itself: loops, companies in turn, retention'],
  [
    'src/postgres',
    'embedded server and who owns it, hosts of a URL and which of them takes writes, pool, listener, purging, migrations of the schemas `ops` and `ledger`',
  ],
  ['src/master-key', 'the key that all secrets are sealed with: where it comes from, whose it is, how it is changed'],
  [
    'src/ledger',
    'envelope and hash chain, event-store port, working set, projections and reactors as types; knows no business',
  ],
  ['src/ledger/stores', 'the event stores, Postgres and EventStoreDB, and the copy from one to the other'],
  ['src/ledger/write', 'writer: queue, group commit, unit of work, unknown outcomes, apply'],
  ['src/ledger/follow', 'catch-up subscription to a store outside Postgres'],
  ['src/ledger/rebuild', 'replay, and a read model made anew beside the live one'],
  ['src/ledger/standby', 'reads from standbys: which of them show what is asked for, and the primary where none does'],
  ['src/events', 'the event catalogue: a zod shape per version of an event type; personal fields are marked'],
  ['projections', 'what we know: tables, and what each event does to their rows'],
  ['queries', 'how we answer: SELECTs that return the answer’s JSON text'],
  ['commands', 'what may happen: input schema, needed rows, a pure `decide`'],
  ['src/sales-sums', 'what sales add up to by span of time, grown behind them'],
  ['src/live', 'tells all processes which ledgers have moved, so that open pages follow'],
  ['src/mail', 'notices by e-mail'],
  ['src/access', 'API keys, quotas, logins, tokens, sessions, passwords'],
  ['src/webhooks', 'transactional outbox, dispatcher, signatures, health of endpoints'],
  ['src/payments', 'the payment provider behind a port, orchestration of a payment, log of notifications, sweep'],
  ['src/config', 'every setting with its unit and default'],
  ['src/audit', 'verification, keys that sign, exports, a company as of a moment'],
  ['src/proof', 'Merkle trees of ledgers, signed checkpoints, proofs that hold without us'],
  ['src/privacy', 'what ends with a person who is forgotten: keys at once, what waited on its day'],
  ['src/offline-sales', 'refused sales of tills, until a person has looked at them'],
  ['src/imports', 'files that people bring: read as tables, and kept until they are imported'],
  ['src/wiping', 'what `ops` holds of a person who is forgotten, and persons whom a restored backup brings back'],
  [
    'src/homes',
    'several homes: the directory of which company lives where, and logins, sessions and persons over all of them',
  ],
  ['src/calls', 'the log of calls: what is kept of each, masked, written beside the answers, bounded'],
  ['src/http', 'toolkit of the interfaces: server, answers, problems, bodies, middleware'],
  ['src/metrics', 'what a process counts of itself, and `/metrics`'],
  ['src/api', 'API v1: routes as descriptors, contract, `/docs`'],
  ['src/sync', 'the sync interface of tills'],
  ['src/payment-notifications', 'the receiver of the payment provider’s notifications'],
  ['src/panel', 'the panel of subscribers, in Portuguese'],
  ['src/checkout', 'the pages on which buyers see and pay an order, in Portuguese'],
  ['src/receipt-page', 'the page on which anybody verifies a receipt, in Portuguese'],
  ['src/service', 'what a process is made of: core, roles, app, server'],
  [
    'demo',
    'provider sandbox, witness and time-stamp authority to try seals with, reference till, demonstration companies, tour',
  ],
  ['src/integrator', 'what integrators run against any service, over HTTP alone: listener and triggers'],
  ['src/cli', 'the `tillbook` command line, one file per group of verbs'],
  ['src/main.ts', 'settings, signals, and the service'],
]

/** Interfaces stand side by side: none imports another. */
exports.INTERFACES = [
  'src/api',
  'src/sync',
  'src/payment-notifications',
  'src/panel',
  'src/checkout',
  'src/receipt-page',
]
