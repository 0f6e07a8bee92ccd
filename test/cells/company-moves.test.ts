import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import pg, { type Pool } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { createUser } from '#commands/user-commands.ts'
import { configuredMasterKeys } from '#crypto/master-keys.ts'
import { ringEntries } from '#integrity/checkpoint-keys.ts'
import { knownCompanies } from '#integrity/checkpoint-schedule.ts'
import { makeCheckpoint } from '#integrity/checkpoints.ts'
import { type CarriedTable, CREDENTIALS, carriedTables, LEFT_TABLES, LOGIN_TABLES } from '#integrity/company-file.ts'
import { loadInstallation } from '#integrity/installation.ts'
import { prepareLike } from '#integrity/move-company.ts'
import { checkpointPath } from '#integrity/note.ts'
import { verifyLedger } from '#integrity/verify.ts'
import { streamName } from '#ledger/command.ts'
import { raiseCompanyIds } from '#ledger/ledgers.ts'
import { StepRefused } from '#lib/errors.ts'
import { toTrustedKeys } from '#public/receipt-page.tsx'
import { leaseDue } from '#webhooks/delivery-leases.ts'
import { type Reply, send, type TestCompany } from '../support/api.ts'
import { rowsOf } from '../support/company-rows.ts'
import { useDatabase } from '../support/database.ts'
import { masterKeys } from '../support/master-key.ts'
import { placedOrder } from '../support/orders.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { loadVerification } from '../support/receipts.ts'
import { sealsOf } from '../support/seals.ts'
import { onDatabase } from '../support/server.ts'
import { createTestUser, logIn, openTill, tillWith } from '../support/till.ts'
import { altered, callAt, type TestCell, untilLogged, useTwoCells } from './two-cells.ts'

const sale = (cash: number) => ({
  items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
  payments: [{ payment_type_id: cash, amount: '5.00' }],
})

/** The obstacle of a refused step; null if it was done. */
const refusal = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof StepRefused)) throw error
      return error.code
    },
  )

const expectRetryLater = ({ status, headers, text }: Pick<Reply, 'status' | 'headers'> & { text?: string }) => {
  expect(status, text).to.equal(503)
  expect(Number(headers.get('retry-after'))).to.be.above(0)
}

describe('company that moves to another cell', () => {
  const cells = useTwoCells()

  interface Moving {
    readonly company: TestCompany
    readonly cash: number
    /** Of its endpoint. */
    readonly webhook: number
  }

  async function shop(): Promise<Moving> {
    const company = await cells.north.api.company()
    const cash = await company.paymentType('cash')
    await company.post('/customers', { name: 'Ana', email: 'ana@example.com' })
    const { body } = await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] })
    expect((await company.post('/sales', sale(cash))).status).to.equal(201)
    // An endpoint gets what its own key did not cause.
    await company.run(createCustomer, { name: 'Bia', email: null } as never)
    return { company, cash, webhook: body.data.id }
  }

  /** Exports from one cell and imports into the other. Returns the note. */
  async function move({ id }: TestCompany, from = cells.north, to = cells.south): Promise<string> {
    const path = cells.path()
    await from.exportTo(path, id)
    return (await to.importFrom(path)).note
  }

  const answersOf = async (cell: TestCell, { company, webhook }: Moving) => {
    const paths = ['/sales', '/events', '/customers', '/sales/payment-types', '/catalog/items', '/webhooks', '/stores']
    const answers: [string, string][] = []
    for (const path of [
      ...paths,
      `/webhooks/${webhook}/deliveries`,
      `/webhooks/${webhook}/replay`,
      '/sales?updated_since=2026-01-01T00:00:00Z',
    ])
      answers.push([path, (await callAt(cell, company, 'GET', path)).text])
    return answers
  }

  it('answers the same there, byte for byte, and goes on [CELL-4]', async () => {
    const moving = await shop()
    const { company, cash, webhook } = moving
    const first = await company.post('/sales', sale(cash), { 'idempotency-key': 'a' })
    await company.post(`/webhooks/${webhook}/replay`, {})
    const before = await answersOf(cells.north, moving)
    await move(company)
    for (const [place, [path, text]] of (await answersOf(cells.south, moving)).entries())
      expect(text, path).to.equal(before[place]?.[1])
    const again = await callAt(cells.south, company, 'POST', '/sales', sale(cash), { 'idempotency-key': 'a' })
    expect(again.text).to.equal(first.text)
    const next = await callAt(cells.south, company, 'POST', '/sales', sale(cash))
    expect(next.body.data.id).to.equal(first.body.data.id + 1)
    expect(await cells.south.api.core.verifyTables(company.id)).to.deep.include({ kind: 'verified', differences: [] })
    const { rows } = await cells.south.cell.pool.query(
      `select max(sequence)::int as last, count(*)::int as count from ops.webhook_deliveries where company_id = $1 and sequence is not null`,
      [company.id],
    )
    expect(rows[0].last).to.equal(rows[0].count)
  })

  it('is closed where it was: all that would be lost gets 503, and reads go on [CELL-3]', async () => {
    const { company, cash, webhook } = await shop()
    const [{ url }, { pool }] = [cells.north.api, cells.north.cell]
    const [clerk, owner] = [await createTestUser(company), await panelUser(cells.north.api, company)]
    const till = await openTill(url, company, clerk)
    await company.run(createStore, { alias: `loja-${company.id}`, commission_percentage: '5', sandbox: true } as never)
    const order = await placedOrder(company, `loja-${company.id}`)
    const delivery = (await company.get(`/webhooks/${webhook}/deliveries`)).body.data[0].id
    await cells.north.exportTo(cells.path(), company.id)
    // Requests are logged, and counted, all the same.
    const unlogged = async () => {
      const tables = [
        'sessions',
        'sync_tokens',
        'refused_sales',
        'webhook_deliveries',
        'webhook_replays',
        'payment_notifications',
      ]
      const each = tables.map(
        (name) => `select '${name}', json_agg(t)::jsonb as rows from ops.${name} t where company_id = ${company.id}`,
      )
      return (await pool.query(each.join(' union all '))).rows
    }
    const rows = await unlogged()
    const refused = { sales: [{ offline_id: 'x' }] }
    for (const answer of [
      await company.post('/sales', sale(cash)),
      await company.post('/webhooks', { url: 'http://127.0.0.1:9/b', events: ['*'] }),
      await company.post(`/webhooks/${webhook}/deliveries/${delivery}/redeliver`, {}),
      await company.post(`/webhooks/${webhook}/replay`, {}),
      await company.post(`/webhooks/${webhook}/test`, {}),
      await logIn(url, clerk),
      await till.post('/sync/sales', refused),
      await till.post('/auth/logout'),
      await owner.logIn(),
      await owner.submit('/painel/clientes', {}, '/painel/sair'),
      await owner.submit('/painel/conta/verificacao/aplicativo', { code: '000000' }),
      await send(`${url}/webhook/paymentprovider/loja-${company.id}/${order}`, 'POST', {
        type: 'payment',
        data: { id: '1' },
      }),
    ])
      expectRetryLater(answer)
    expect((await company.get('/sales')).status).to.equal(200)
    expect((await till.get('/sync/products')).status).to.equal(200)
    expect((await owner.get('/painel/clientes')).status).to.equal(200)
    expect(await unlogged()).to.deep.equal(rows)
  })

  it('is delivered nothing while it is closed, and its pending deliveries go on elsewhere [CELL-3, CELL-4]', async () => {
    const { company } = await shop()
    const leased = ({ cell }: TestCell) =>
      leaseDue(
        { pool: cell.pool, vault: cell.vault, log: () => {} },
        { sound: 1_000, strained: 1_000, busy: {} },
        1_000,
      ).then(({ claims }) => claims.filter(({ company_id }) => company_id === company.id))
    await move(company)
    expect(await leased(cells.north)).to.deep.equal([])
    expect(await leased(cells.south)).not.to.deep.equal([])
  })

  it('is exported again as it was, and sells again once it is reopened [CELL-3, CELL-7]', async () => {
    const { company, cash } = await shop()
    const [first, second] = [cells.path(), cells.path()]
    const made = await cells.north.exportTo(first, company.id)
    // Requests of before may be logged late.
    const { rows: _, ...same } = made
    expect(await cells.north.exportTo(second, company.id)).to.deep.include(same)
    await cells.north.reopen(company.id)
    expect((await company.post('/sales', sale(cash))).status).to.equal(201)
    expect(await refusal(cells.north.reopen(company.id))).to.equal('not_exported')
    const later = await cells.north.exportTo(first, company.id)
    expect(later.export).not.to.equal(made.export)
    const { note } = await cells.south.importFrom(second)
    // The company was open in both: neither is removed.
    expect(await refusal(cells.north.remove(company.id, note))).to.equal('other_note')
    await cells.north.reopen(company.id)
    expect((await company.post('/sales', sale(cash))).status).to.equal(201)
  })

  it('is removed by the note of its import alone, and comes back with a longer ledger [CELL-6, CELL-7]', async () => {
    const { company, cash } = await shop()
    const other = (await shop()).company
    const { north, south } = cells
    const file = north.cell.sealing && checkpointPath(north.cell.sealing.directory, company.id)
    await makeCheckpoint(north.cell.sealing, company.id)
    await untilLogged(north, await company.get('/sales'))
    const note = await move(company)
    expect(await refusal(north.remove(company.id, await move(other)))).to.equal('other_note')
    expect(await refusal(north.remove(company.id, note.replace(/[0-9a-f]{64}/, '0'.repeat(64))))).to.equal('other_note')
    expect(existsSync(file)).to.equal(true)
    await north.remove(company.id, note)
    await north.remove(company.id, note)
    expect(existsSync(file)).to.equal(false)
    expect(await rowsOf(north.cell.pool, company.id)).to.equal(0)
    expect(await refusal(north.reopen(company.id))).to.equal('not_exported')
    expect(await refusal(north.exportTo(cells.path(), company.id))).to.equal('no_company')
    expect(await knownCompanies(north.cell, north.cell.sealing.directory)).not.to.include(company.id)
    const former = cells.path()
    await south.exportTo(former, company.id)
    await south.reopen(company.id)
    const sold = await callAt(south, company, 'POST', '/sales', sale(cash))
    expect(sold.status).to.equal(201)
    await untilLogged(south, sold)
    await south.remove(company.id, await move(company, south, north))
    expect((await company.get('/sales')).body.data).to.deep.include(sold.body.data)
    expect((await company.post('/sales', sale(cash))).body.data.id).to.equal(sold.body.data.id + 1)
    expect(await refusal(south.importFrom(former))).to.equal('own_export')
    expect(await rowsOf(south.cell.pool, company.id)).to.equal(0)
  })

  it('keeps its checkpoints going, by the same name and ring of keys [CELL-9]', async () => {
    const { company, cash } = await shop()
    const { north, south } = cells
    const sold = (await company.post('/sales', sale(cash))).body.data.id
    const before = await makeCheckpoint(north.cell.sealing, company.id)
    const { text: given } = await company.get(`/sales/${sold}/receipt`)
    await move(company)
    const next = (await callAt(south, company, 'POST', '/sales', sale(cash))).body.data.id
    const after = await makeCheckpoint(south.cell.sealing, company.id)
    const { text: anew } = await callAt(south, company, 'GET', `/sales/${sold}/receipt`)
    const { text: later } = await callAt(south, company, 'GET', `/sales/${next}/receipt`)
    const { verifyReceipt } = await loadVerification()
    for (const { cell } of [north, south]) {
      const { family } = await loadInstallation(cell.pool)
      const trusted = toTrustedKeys(family, await ringEntries(cell.pool))
      for (const receipt of [given, anew, later])
        expect((await verifyReceipt(receipt, trusted)).outcome, receipt).to.equal('proved')
    }
    expect(after?.origin).to.equal(before?.origin)
    expect(after?.size).to.be.above(before?.size ?? 0)
    expect(await verifyLedger(south.cell, company.id)).to.include({ valid: true })
    const proof = await callAt(south, company, 'GET', `/events/consistency?from=${before?.size}&to=${after?.size}`)
    expect(proof.status, proof.text).to.equal(200)
    const keys = await Promise.all([north, south].map(({ api }) => send(`${api.url}/proof/keys`, 'GET')))
    expect(keys[0]?.body.keys.map(({ vkey }: { vkey: string }) => vkey)).to.deep.equal(
      keys[1]?.body.keys.map(({ vkey }: { vkey: string }) => vkey),
    )
    expect(keys[1]?.body.log).to.equal(`${keys[0]?.body.log}/cell-1`)
  })

  it('leaves companies of further cells with ids of their own [CELL-8]', async () => {
    const born = await cells.south.api.company()
    expect(born.id).to.be.above(1_000_000_000)
    await move(born, cells.south, cells.north)
    expect((await callAt(cells.north, born, 'GET', '/me')).status).to.equal(200)
    await raiseCompanyIds(cells.north.cell.pool, [born.id])
    expect((await cells.north.api.company()).id).to.be.below(1_000_000_000)
  })

  it('finds a cell that was prepared beside the first one, with its keys, or is refused [CELL-8]', async () => {
    const { north, south } = cells
    const [first, second] = [north.api.databaseUrl, south.api.databaseUrl]
    const { keyFile } = sealsOf(second)
    const prepared = (pool: Pool, likeness: object) =>
      prepareLike(pool, { likeUrl: first, masterKeys, keyFile, ...likeness }).then(
        () => null,
        (error: Error) => error.message,
      )
    expect(await prepared(south.cell.pool, {})).to.equal(null)
    expect(await prepared(south.cell.pool, { keyFile: `${keyFile}.other` })).to.include('SEAL_KEY_FILE')
    const other = configuredMasterKeys([Buffer.alloc(32, 7)], 'MASTER_KEY')
    expect(await prepared(south.cell.pool, { masterKeys: other })).to.include('MASTER_KEY')
    expect(await prepared(south.cell.pool, { likeUrl: second })).to.include('first installation')
    expect(await prepared(south.cell.pool, { likeUrl: onDatabase(first, 'postgres') })).to.include('this version')
    expect(await prepared(north.cell.pool, {})).to.include('in use')
  })

  describe('with people whom the other cell knows', () => {
    it('leaves them the password of there; their tills stay logged in, their sessions end [CELL-5]', async () => {
      const { company } = await shop()
      const { north, south } = cells
      const known = await createTestUser(company)
      const alone = await createTestUser(company)
      const tills = await Promise.all([known, alone].map((user) => openTill(north.api.url, company, user)))
      for (const { email } of [known, alone])
        await north.cell.pool.query(
          `insert into ops.second_factors (id, email, method, label, secret, counter, created_at)
           values (gen_random_uuid(), $1, 'totp', '', $2, 0, now())`,
          [email, north.cell.vault.seal(Buffer.from('x'), 'x')],
        )
      const there = await south.api.company()
      await there.run(createUser, {
        name: 'Outra',
        email: known.email,
        role: 'clerk',
        password_hash: await cheapHash('outra senha qualquer'),
      } as never)
      const owner = await panelUser(north.api, company)
      await move(company)
      const factors = await south.cell.pool.query('select email from ops.second_factors')
      expect(factors.rows).to.deep.equal([{ email: alone.email }])
      await Promise.all([north, south].map(({ cell }) => cell.pool.query('delete from ops.second_factors')))
      expect((await logIn(south.api.url, known)).status).to.equal(401)
      expect((await logIn(south.api.url, alone)).status).to.equal(200)
      for (const { user, token } of tills)
        expect((await tillWith(south.api.url, user, token).get('/auth/user')).status).to.equal(200)
      const page = await fetch(`${south.api.url}/painel/clientes`, {
        headers: { cookie: owner.cookie() },
        redirect: 'manual',
      })
      expect(page.status).to.equal(200)
    })

    it('is refused where the file’s password would open a company whose user has lost the own [CELL-5]', async () => {
      const { company } = await shop()
      const user = await createTestUser(company)
      const { south } = cells
      const there = await south.api.company()
      await there.run(createUser, { name: 'A', email: user.email, role: 'owner', password_hash: 'x' } as never)
      await south.cell.pool.query('delete from ops.persons where email = $1', [user.email])
      const path = cells.path()
      await cells.north.exportTo(path, company.id)
      expect(await refusal(south.importFrom(path))).to.equal('login_lost')
      expect(await rowsOf(south.cell.pool, company.id)).to.equal(0)
    })
  })

  describe('is refused with a reason, and nothing changes', () => {
    /** An exported company, and what an attempt to import it leaves. */
    async function attempt(change: (lines: string[]) => string[]): Promise<string | null> {
      const { company } = await shop()
      const path = cells.path()
      await cells.north.exportTo(path, company.id)
      const refused = await refusal(cells.south.importFrom(await altered(path, change)))
      expect(await rowsOf(cells.south.cell.pool, company.id)).to.equal(0)
      return refused
    }

    const lastOf = (lines: readonly string[]) => JSON.parse(lines.at(-2) as string)

    it('if the file is cut at any line, or within one [CELL-4]', async () => {
      for (const cut of [1, 2, 3])
        expect(await attempt((lines) => [...lines.slice(0, -1 - cut), '']), String(cut)).to.equal('broken_file')
      expect(await attempt((lines) => [...lines.slice(0, -2), (lines.at(-2) as string).slice(0, 40)])).to.equal(
        'broken_file',
      )
      expect(await attempt(() => [''])).to.equal('broken_file')
      expect(await attempt(() => ['{"format":"zip"}', ''])).to.equal('broken_file')
    })

    it('if a byte of it is another one, also with a digest to match [CELL-4]', async () => {
      const flipped = (lines: string[], from: string, to: string) => {
        const at = lines.findIndex((line) => line.includes(from))
        expect(at).to.be.above(-1)
        return lines.with(at, (lines[at] as string).replace(from, to))
      }
      expect(await attempt((lines) => flipped(lines, 'Café', 'Cafe'))).to.equal('broken_file')
      expect(await attempt((lines) => flipped(lines, 'api_key_secrets', 'api_key_secretz'))).to.equal('broken_file')
      const forged = await attempt((lines) => {
        const changed = flipped(lines, 'ops.api_key_uses', 'ops.api_key_usez')
        const sha256 = createHash('sha256')
          .update(
            changed
              .slice(0, -2)
              .map((line) => `${line}\n`)
              .join(''),
          )
          .digest('hex')
        return [...changed.slice(0, -2), JSON.stringify({ ...lastOf(lines), sha256 }), '']
      })
      expect(forged).to.equal('broken_file')
    })

    it('if it was sealed by another MASTER_KEY, or is of other keys or another version [CELL-4]', async () => {
      const header = (lines: string[], member: object) =>
        lines.with(0, JSON.stringify({ ...JSON.parse(lines[0] as string), ...member }))
      expect(await attempt((lines) => header(lines, { master_key: '0'.repeat(16) }))).to.equal('other_master_key')
      expect(await attempt((lines) => header(lines, { version: 'x' }))).to.equal('other_version')
      const family = '0190b2c4-1111-7000-8000-000000000001'
      expect(await attempt((lines) => header(lines, { family }))).to.equal('other_family')
    })

    it('if it was imported before, tells the note again, and if it is of this installation [CELL-4]', async () => {
      const { company } = await shop()
      const path = cells.path()
      await cells.north.exportTo(path, company.id)
      expect(await refusal(cells.north.importFrom(path))).to.equal('own_export')
      const { note } = await cells.south.importFrom(path)
      const again = await cells.south.importFrom(path).catch((error: StepRefused) => error)
      expect(again).to.deep.include({ code: 'already_imported', details: { note } })
      const { rowCount } = await cells.south.cell.pool.query('select from ops.api_key_secrets where company_id = $1', [
        company.id,
      ])
      expect(rowCount).to.equal(1)
    })

    it('if there is a company with its id, its CNPJ or the alias of its store [CELL-4]', async () => {
      const { north, south } = cells
      const { company } = await shop()
      const path = cells.path()
      await company.run(createStore, {
        alias: `vila-${company.id}`,
        commission_percentage: '5',
        sandbox: true,
      } as never)
      await north.exportTo(path, company.id)
      await south.cell.pool.query('insert into ops.ledgers (company_id, hash) values ($1, $2)', [company.id, ''])
      expect(await refusal(south.importFrom(path))).to.equal('taken')
      await south.cell.pool.query('delete from ops.ledgers where company_id = $1', [company.id])
      const there = await south.api.company()
      expect(await refusal(south.importFrom(path, false))).to.equal('same_cnpj')
      await there.run(createStore, { alias: `vila-${company.id}`, commission_percentage: '5', sandbox: true } as never)
      expect(await refusal(south.importFrom(path))).to.equal('taken')
      expect(await rowsOf(south.cell.pool, company.id)).to.equal(0)
      await north.reopen(company.id)
    })
  })
})

/** Tables of `ops` without a company's rows, or whose rows are derived from the ledger: none of them travels. */
const OF_NO_COMPANY = [
  'attestors',
  'checkpoint_tokens',
  'subscription_checkpoints',
  'installation',
  'installation_checkpoints',
  'installation_secrets',
  'login_failures',
  'login_origins',
  'master_keys',
  'migrations',
  'read_model',
  'checkpoint_keys',
  'checkpoint_runs',
  'second_steps',
  'unverified_notifications',
  'tree_tiles',
  'trees',
]

describe('tables of a company that leaves its installation', () => {
  const database = useDatabase()
  let carried: readonly CarriedTable[]
  let tables: readonly { readonly name: string; readonly columns: readonly string[] }[]

  before('look at all tables', async () => {
    const client = new pg.Client({ connectionString: database.ownerUrl })
    await client.connect()
    carried = await carriedTables(client)
    const { rows } = await client.query<(typeof tables)[0]>(
      `select relname as name, array_agg(a.attname::text) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where relnamespace = 'ops'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition group by 1`,
    )
    tables = rows
    await client.end()
  })

  it('are carried, left behind with a reason, or of no company: a new one is one of them [CELL-1]', () => {
    const known = [
      ...carried.map(({ name }) => name.replace('ops.', '')),
      ...Object.keys(LEFT_TABLES),
      ...OF_NO_COMPANY,
    ]
    expect(tables.map(({ name }) => name).sort()).to.deep.equal(known.sort())
  })

  it('name the company in each row, or are logins by e-mail [CELL-1]', () => {
    const withCompany = tables.filter(({ columns }) => columns.includes('company_id')).map(({ name }) => name)
    for (const name of [...Object.keys(LEFT_TABLES), ...CREDENTIALS]) expect(withCompany).to.include(name)
    for (const name of LOGIN_TABLES) expect(tables.find((table) => table.name === name)?.columns).to.include('email')

    expect(carried.slice(0, 4).map(({ name }) => name)).to.deep.equal(LOGIN_TABLES.map((name) => `ops.${name}`))
  })

  it('have a key to order rows by; those with ids of the installation and of its owner are told [CELL-1]', () => {
    for (const { name, key } of carried) expect(key, name).not.to.deep.equal([])
    const names = (which: (table: CarriedTable) => boolean) => carried.filter(which).map(({ name }) => name)
    expect(names(({ isCounted }) => isCounted)).to.deep.equal([
      'ops.downloads',
      'ops.payment_notifications',
      'ops.refused_sales',
    ])
    expect(names(({ isAppendOnly }) => isAppendOnly)).to.deep.equal(['ops.ledger_checkpoints', 'ops.restored_ledgers'])
  })
})

describe('company with its ledger outside Postgres', () => {
  const stores = { north: createOutsideStore(), south: createOutsideStore() }
  const cells = useTwoCells({ north: { store: stores.north }, south: { store: stores.south } })

  async function exported(): Promise<{
    readonly company: TestCompany
    readonly path: string
    readonly stream: string
  }> {
    const company = await cells.north.api.company()
    await company.post('/customers', { name: 'Ana', email: null })
    const path = cells.path()
    await cells.north.exportTo(path, company.id)
    return { company, path, stream: streamName(company.id) }
  }

  it('moves with its stream, which the former cell keeps and does not follow [CELL-11]', async () => {
    const { company, path, stream } = await exported()
    const { north, south } = cells
    const customers = await company.get('/customers')
    await untilLogged(north, customers)
    const { note } = await south.importFrom(path)
    expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
    await north.remove(company.id, note)
    const following = north.api.core.follow()
    try {
      expect((await callAt(south, company, 'GET', '/customers')).text).to.equal(customers.text)
      const added = await callAt(south, company, 'POST', '/customers', { name: 'Bia' })
      expect(added.status).to.equal(201)
      const back = cells.path()
      await south.exportTo(back, company.id)
      expect(await rowsOf(north.cell.pool, company.id)).to.equal(0)
      await south.remove(company.id, (await north.importFrom(back)).note)
      expect(stores.north.events(stream)).to.deep.equal(stores.south.events(stream))
      expect((await company.get('/customers')).body.data).to.deep.include(added.body.data)
      expect((await company.post('/customers', { name: 'Caio' })).status).to.equal(201)
    } finally {
      await following?.stop()
    }
  })

  it('is imported by another run if the store failed during the append [CELL-11]', async () => {
    const { company, path, stream } = await exported()
    const { south } = cells
    const following = south.api.core.follow()
    try {
      stores.south.faults.push('after')
      const failed = await south.importFrom(path).catch((error: Error) => error.message)
      expect(failed).to.include('UNAVAILABLE')
      expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
      expect(await rowsOf(south.cell.pool, company.id)).to.equal(0)
      await south.importFrom(path)
      expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
      expect((await callAt(south, company, 'POST', '/customers', { name: 'Bia' })).status).to.equal(201)
    } finally {
      await following?.stop()
    }
  })
})
