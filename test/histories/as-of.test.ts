import { expect } from 'chai'
import fc from 'fast-check'
import { v7 } from 'uuid'
import type { ReadAnswer } from '#api/api-route.ts'
import { answerPast } from '#api/read-as-of.ts'
import type { PersonPart } from '#domain/person-values.ts'
import { type CompanyAsOf, withPastCompany } from '#integrity/as-of.ts'
import { type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { advanceLedger, ensureLedger, lockLedger, openLedger } from '#ledger/ledgers.ts'
import { collectRefs, project } from '#ledger/projection.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { createKeychain, listKeyOwners, personKeyRefs, sealData } from '#ledger/sealed-fields.ts'
import { type AnyTable, isRowHistory, markTable } from '#ledger/table.ts'
import { type Changes, createWorkingSet } from '#ledger/working-set.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { readModel } from '#projections/index.ts'
import { Reader, type ReadScope, type ReadSource, WHOLE } from '#queries/reader.ts'
import type { Core } from '#service/core.ts'
import { bodyOf, usePast } from '../integrity/audit/past.ts'
import type { TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { EVERY_EVENT } from '../support/every-event.ts'
import { COMPANY_ID } from '../support/given.ts'
import { explore } from '../support/random.ts'
import { invocationOf, type Known, kindOf, type Step, step } from '../support/random-history.ts'
import { openTestCore } from '../support/test-core.ts'

const RUNS = 5

/** Lists of all records of the ledger; ids are added as they appear. */
const LISTS = [
  '/customers?limit=200',
  '/customers?limit=2',
  '/customers/deleted',
  '/suppliers',
  '/catalog/items?limit=200',
  '/catalog/items/deleted',
  '/catalog/categories',
  '/finance/receivables?limit=200',
  '/finance/receivables?status=overdue',
  '/finance/payables?limit=200',
  '/finance/payables/deleted',
  '/finance/summary',
  '/finance/summary?from=1999-01-01&to=2099-12-31',
  '/sales?limit=200',
  '/sales?updated_since=2020-01-01T00:00:00Z',
  '/sales/payment-types',
  '/orders',
  '/events?limit=200',
  '/events?types=SaleCompleted,CustomerCreated',
]

const PATHS: Readonly<Record<string, string>> = {
  customer: '/customers',
  supplier: '/suppliers',
  catalog_item: '/catalog/items',
  category: '/catalog/categories',
  receivable: '/finance/receivables',
  payable: '/finance/payables',
  sale: '/sales',
}

/** Keeps the API plan: without it no request would be answered. */
const keepsPlan = ({ act, input }: Step): Step =>
  act === 'updateCompany' ? { act, input: { ...input, plan: undefined } } : { act, input }

const history = fc.array(fc.array(step.map(keepsPlan), { minLength: 1, maxLength: 4 }), { minLength: 6, maxLength: 9 })

interface Recorded {
  readonly path: string
  readonly status: number
  readonly revision: number
  readonly text: string
}

describe('as of', () => {
  const { api, follow, present, visit } = usePast()

  async function play(company: TestCompany, steps: readonly Step[], known: Known): Promise<void> {
    for (const each of steps) {
      const invocation = invocationOf(each, known)
      if (!invocation) continue
      const answer = await writeRequest(api.core.writer, {
        companyId: company.id,
        invocations: [invocation],
        origin: 'api',
        actor: null,
        requestId: null,
      })
      if (isRefusal(answer) || answer.json === '') continue
      const ids = known.get(kindOf(each)) ?? []
      const { id } = answer.record as { id: number }
      known.set(kindOf(each), ids.includes(id) ? ids : [...ids, id])
    }
  }

  /** Current responses to all lists and all records ever created, with their histories. */
  async function record(company: TestCompany, known: Known): Promise<Recorded[]> {
    const records = [...known].flatMap(([kind, ids]) => {
      const path = PATHS[kind]
      return path ? ids.flatMap((id) => [`${path}/${id}`, `${path}/${id}/history?limit=3`]) : []
    })
    const recorded: Recorded[] = []
    for (const path of [...LISTS, ...records]) {
      const { status, headers, text } = await company.get(path)
      // A record may be deleted: its 404 is compared too.
      expect(status, text).to.be.oneOf([200, 404])
      recorded.push({ path, status, revision: Number(headers.get('x-ledger-revision')), text })
    }
    return recorded
  }

  it('any revision, every response equals, to the last byte, the response at that revision [ASOF-1]', async () => {
    await explore(
      fc.asyncProperty(history, async (groups) => {
        present()
        const company = await api.company()
        const known: Known = new Map([['payment_type', [await company.paymentType('cash')]]])
        const moments: { revision: number; answers: Recorded[] }[] = []
        for (const steps of groups) {
          await play(company, steps, known)
          const revision = await follow(company)
          if (moments.at(-1)?.revision !== revision) moments.push({ revision, answers: await record(company, known) })
        }
        for (const { revision, answers } of moments) {
          await visit(company, { revision }, async (asOf) => {
            for (const { path, status, revision: told, text } of answers) {
              const answer = await answerPast(asOf, path)
              if (status === 404) expect(answer, path).to.deep.equal({ refused: 'not_found' })
              else {
                expect(bodyOf(answer), `${path} as of ${revision}`).to.equal(text)
                expect((answer as ReadAnswer).revision).to.equal(told)
              }
            }
          })
        }
      }),
      RUNS,
    )
  }).timeout(180_000)
})

const TABLES = readModel.projections.flatMap(({ tables }) => tables).filter(({ past }) => past)

/** Columns of a past state. */
const columnsOf = ({ columns, past }: AnyTable): string[] =>
  Object.keys(columns).filter((name) => !isRowHistory(name) && !past?.without?.includes(name))

type Row = Record<string, unknown>

/** Values of columns of a table, ordered by id. */
const textOf = ({ past }: AnyTable, rows: readonly Row[], columns: readonly string[]): string =>
  [...rows]
    .sort((a, b) => (a[past?.id ?? ''] as number) - (b[past?.id ?? ''] as number))
    .map((row) => JSON.stringify(columns.map((column) => row[column])))
    .join('\n')

async function read(source: ReadSource, table: AnyTable, columns: readonly string[], look?: ReadScope): Promise<Row[]> {
  const { rows } = await new Reader(COMPANY_ID, source, WHOLE).query<Row>({
    text: `select ${columns.join(', ')}, ${table.past?.id} as key_id from ${markTable(table.name)} where company_id = $1`,
    readSet: look === undefined ? {} : { [table.name]: look },
  })
  return rows
}

/** An empty database. */
const NOTHING = { query: async () => ({ rows: [], rowCount: 0, command: 'SELECT', oid: 0, fields: [] }) }

/** Sealed events, with their keys stored in the database. */
async function sealed({ keys }: Core): Promise<Envelope[]> {
  const keychain = createKeychain(keys.vault, v7)
  const set = createWorkingSet()
  const fieldsOf = readModel.personalFields
  const owners = EVERY_EVENT.flatMap((event) => listKeyOwners(event, fieldsOf(event)))
  set.queue(
    COMPANY_ID,
    owners.flatMap(([subject, part]) => personKeyRefs([subject], [part])),
  )
  await Promise.all(set.load(NOTHING))
  const events = EVERY_EVENT.map((event) => {
    const keyOf = (subject: string, part: PersonPart) =>
      keychain.keyOf(set.of(COMPANY_ID), { company_id: COMPANY_ID, subject, part }, event.recorded_at)
    return { ...event, data: sealData(event, event.id, fieldsOf(event), keyOf).stored }
  })
  await keys.save(keychain.made)
  return events
}

/** All rows after each event, as the projections compute them in memory. */
async function* replayed(): AsyncGenerator<[revision: number, rowsOf: (table: AnyTable) => Row[]]> {
  const made = new Map<AnyTable, Map<unknown, Row>>(TABLES.map((table) => [table, new Map()]))
  const set = createWorkingSet()
  const changes = set.of(COMPANY_ID)
  const note = (table: AnyTable, row: object) => made.get(table)?.set((row as Row)[table.past?.id ?? ''], row as Row)
  const noting: Changes = {
    ...changes,
    add(table, row) {
      changes.add(table, row)
      note(table, row as object)
    },
    put(table, row) {
      changes.put(table, row)
      note(table, row as object)
    },
  }
  for (const event of EVERY_EVENT) {
    set.queue(COMPANY_ID, collectRefs(readModel, event))
    await Promise.all(set.load(NOTHING))
    project(readModel, noting, event)
    yield [event.revision, (table) => [...(made.get(table)?.values() ?? [])]]
  }
}

/** Earlier states are not available (KIT-37). */
const ERASED = EVERY_EVENT.findIndex(({ type }) => type === 'TestDataErased')

describe('a table as of a revision', () => {
  const database = useDatabase()
  let core: Core

  before(async () => {
    core = await openTestCore(database.url, { log: console.error })
    await ensureLedger(core.pool, COMPANY_ID)
    await inTransaction(core.pool, async (tx) => {
      const row = (await lockLedger(tx, [COMPANY_ID])).get(COMPANY_ID)
      if (!row) throw new Error('ledger not found')
      const commands = [await sealed(core)]
      await core.store.append([{ stream: streamName(COMPANY_ID), expectedRevision: -1, commands }], tx)
      async function* all() {
        yield* EVERY_EVENT
      }
      await replay(tx, readModel, COMPANY_ID, all(), EVERY_EVENT.length)
      const last = EVERY_EVENT.at(-1)
      if (!last) throw new Error('event not found')
      const ledger = { ...openLedger(row, last.recorded_at), revision: last.revision, hash: last.hash }
      await advanceLedger(tx, [ledger])
    })
  })
  after(() => core.close())

  async function visit<T>(revision: number, work: (asOf: CompanyAsOf) => Promise<T>): Promise<T> {
    const done = await withPastCompany(core, COMPANY_ID, { revision }, async (asOf) => ({ value: await work(asOf) }))
    if (isRefusal(done)) throw new Error(JSON.stringify(done))
    return done.value
  }

  it('has the rows of all events up to it, after each event of each type, for any rows read [ASOF-4]', async () => {
    const seen = new Set<string>()
    for await (const [revision, rowsOf] of replayed()) {
      const { type } = EVERY_EVENT[revision] as Envelope
      if (revision < ERASED) continue
      // A sample of changes of the same kind.
      if (seen.has(type) && revision % 81 > 0) continue
      seen.add(type)
      const expectRows = async (source: ReadSource, look: ReadScope | undefined) => {
        for (const table of TABLES) {
          const { hot: busy } = table.past ?? {}
          const but = look === 'columns' && busy ? ['revision', 'changed_at', ...busy] : []
          const columns = columnsOf(table).filter((column) => !but.includes(column))
          const found = textOf(table, await read(source, table, columns, look), columns)
          expect(found, `${table.name} at ${revision}, looked at: ${look ?? 'all'}`).to.equal(
            textOf(table, rowsOf(table), columns),
          )
        }
      }
      await visit(revision, ({ source }) => expectRows(source, 'answered'))
      await visit(revision, async ({ source }) => {
        await expectRows(source, 'columns')
        // A single row, and then all rows with some columns.
        for (const table of TABLES) {
          const columns = columnsOf(table)
          const one = rowsOf(table)[0]?.[table.past?.id ?? '']
          if (typeof one !== 'number') continue
          const isOne = (row: Row) => row[table.past?.id ?? ''] === one
          const found = (await read(source, table, columns, [one])).filter(isOne)
          expect(textOf(table, found, columns)).to.equal(textOf(table, rowsOf(table).filter(isOne), columns))
        }
        await expectRows(source, 'answered')
        await expectRows(source, undefined)
      })
    }
  }).timeout(180_000)
})
