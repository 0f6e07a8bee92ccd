/**
 * The folders of the product, lowest first: a file imports, types included, from its own folder and from folders before it
 * in this list, never from one after it. `npm run check:boundaries` fails otherwise. docs/ARCHITECTURE.md shows this list.
 */
exports.FOLDERS = [
  [
    'src/domain',
    'values and pure rules: money, quantities, instants, tax numbers, scopes, roles, refusals, order states',
  ],
  [
    'src/lib',
    'tools without a business: background loops, fair sharing, memory budget, time slicing, retry, files, errors',
  ],
  [
    'src/postgres',
    'embedded server, hosts of a URL and failover between them, pool, listener, migrations of the schemas `ops` and `ledger`',
  ],
  ['src/crypto', 'master key, vault, sealed values: what seals secrets and personal data'],
  [
    'src/ledger',
    'envelope and hash chain, event-store port, working set, projections and reactors as types; knows no business',
  ],
  ['src/ledger/stores', 'the event stores, Postgres and EventStoreDB, and the copy from one to the other'],
  ['src/ledger/write', 'writer: queue, group commit, unit of work, unknown outcomes, apply'],
  ['src/ledger/follow', 'catch-up subscription to a store outside Postgres'],
  ['src/ledger/rebuild', 'replay, and a read model built beside the live one'],
  ['src/ledger/replicas', 'reads from replicas that show the required revision, else from the primary'],
  ['src/events', 'the event catalogue: a zod shape per version of an event type; personal fields are marked'],
  [
    'src/records',
    'what a field of a record is: its values in requests and answers, its labels and descriptions; filters of lists',
  ],
  ['projections', 'what we know: tables, what each event does to their rows, and rollups of sales'],
  ['queries', 'how we answer: SELECTs that return the answer’s JSON text'],
  ['commands', 'what may happen: input schema, needed rows, a pure `decide`'],
  ['src/access', 'API keys and quotas, logins, tokens, sessions, passwords, e-mails'],
  ['src/privacy', 'erasure of persons, restored persons, export of a person’s data'],
  ['src/payments', 'the payment provider behind a port, payments, refunds, log of notifications, sweep'],
  ['src/config', 'every setting with its unit and default'],
  ['src/integrity', 'verification, checkpoints, proofs, attestors, receipts, a company as of a moment and its move'],
  ['src/http', 'toolkit of the interfaces: server, answers, problems, bodies, request log, live updates of pages'],
  ['src/webhooks', 'transactional outbox, delivery leases, dispatcher, signatures, endpoint health and its e-mails'],
  ['src/services.ts', 'the services of a process as one record, which every interface is given'],
  ['src/api', 'API v1: routes as descriptors, contract, `/docs`'],
  ['src/mcp', 'the tools, resources and prompts of agents, made of the routes of API v1'],
  ['src/public', 'what needs no login: checkout of an order, verification of a receipt, the provider’s notifications'],
  ['src/panel', 'the panel of subscribers, in Portuguese'],
  ['src/till-sync', 'the sync interface of tills'],
  ['src/service', 'what a process is made of: core, roles, app, metrics'],
  [
    'demo',
    'provider sandbox, witness and time-stamp authority to try checkpoints with, reference till, demonstration companies, tour',
  ],
  ['src/cli', 'the `tillbook` command line, one file per group of verbs; listener and triggers for integrators'],
  ['src/start.ts', 'settings, signals, and the service'],
]

/** Interfaces stand side by side: none imports another. */
exports.INTERFACES = ['src/api', 'src/till-sync', 'src/panel', 'src/public']
