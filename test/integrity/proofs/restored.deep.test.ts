import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { knownRing, toVerifierKeys } from '#integrity/checkpoint-keys.ts'
import { makeCheckpoint } from '#integrity/checkpoints.ts'
import { loadStatements, openRestored, restoredName } from '#integrity/installation.ts'
import { WritesBlocked } from '#integrity/installation-check.ts'
import { restore } from '#integrity/restore.ts'
import { verifyLedger } from '#integrity/verify.ts'
import { type Envelope, isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Core, CoreOptions } from '#service/core.ts'
import { startApi } from '../../support/api.ts'
import { cloneDatabase, ownerUrlOf, TEMPLATES, useDatabase } from '../../support/database.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { administer, onDatabase } from '../../support/server.ts'
import { openTestCore } from '../../support/test-core.ts'

const SAID = { lost_after: '2026-01-01T00:00:00.000Z', reason: 'disco perdido', copy: false }
const COPY_ID = '0198a000-0000-4000-8000-00000000c0b1'

describe('a restored or copied database', () => {
  const database = useDatabase()
  let folder: string
  let backup: string
  let companies: number[]
  const open: Core[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-restored-'))
    backup = `${new URL(database.url).pathname.slice(1)}_backup`
    const api = await startApi(database.url)
    companies = [(await api.company()).id, (await api.company()).id]
    await api.close()
  })
  afterEach(async () => {
    for (const core of open.splice(0)) await core.close()
    await administer(database.ownerUrl, (client) => client.query(`drop database if exists ${backup} with (force)`))
    await rm(folder, { recursive: true })
  })

  /** Opens the service on a database and a DATA_DIR. */
  async function openOn(
    databaseUrl: string,
    dataDir: string,
    more: Partial<Pick<CoreOptions, 'store' | 'eventStoreUrl' | 'log'>> = {},
  ) {
    const core = await openTestCore(databaseUrl, {
      ownerUrl: ownerUrlOf(databaseUrl),
      dataDir,
      seals: { directory: join(dataDir, 'seals'), keyFile: join(dataDir, 'seal-key.pem') },
      queryConnections: 3,
      ...more,
    })
    open.push(core)
    return core
  }

  const closeAll = async () => {
    for (const core of open.splice(0)) await core.close()
  }

  /** Copies the database. */
  async function backUp(): Promise<string> {
    await closeAll()
    const from = new URL(database.url).pathname.slice(1)
    await cloneDatabase(backup, from)
    return onDatabase(database.url, backup)
  }

  const write = (core: Core, name: string, writer: Writer = core.writer) =>
    runAsSystem(writer, companies[0] as number, createCustomer, { name })

  const eventsOf = async (core: Core, companyId: number): Promise<Envelope[]> => {
    const events: Envelope[] = []
    for await (const event of core.store.read(`company-${companyId}`, 0)) events.push(event)
    return events
  }

  const restoring = (
    core: Core,
    dataDir: string,
    writer = core.writerAfterRestore,
    eventStoreUrl: string | null = null,
  ) => ({
    ...core.sealing!,
    dataDir,
    eventStoreUrl,
    writer,
    newId: () => COPY_ID,
    newInstallationId: () => COPY_ID,
    asOwner: core.asOwner,
  })

  it('a database behind DATA_DIR records nothing until the restore is [OPS-80] [OPS-84] [OPS-85]', async () => {
    const [first = 0, second = 0] = companies
    let core = await openOn(database.url, folder)
    const url = await backUp()
    core = await openOn(database.url, folder)
    const lost = await write(core, 'Ana')
    const before = await makeCheckpoint(core.sealing!, first)
    await makeCheckpoint(core.sealing!, second)
    // A company that is lost completely.
    const api = await startApi(database.url)
    const { id: gone } = await api.company()
    await api.close()
    await makeCheckpoint(core.sealing!, gone)
    await core.installationCheck.note()
    await closeAll()

    core = await openOn(url, folder)
    expect(core.installationCheck.inconsistency()).to.equal('behind')
    expect(await write(core, 'Bia').catch((error) => error)).to.be.instanceOf(WritesBlocked)
    expect(await makeCheckpoint(core.sealing!, first).catch((error) => error)).to.be.instanceOf(WritesBlocked)
    // It crashes after the first ledger, and is run again.
    let calls = 0
    const crashing: Writer = {
      ...core.writerAfterRestore,
      async around(_request, write) {
        calls += 1
        if (calls > 1) throw new Error('crash')
        return write()
      },
    }
    expect(await restore(restoring(core, folder, crashing), SAID).catch(({ message }) => message)).to.equal('crash')
    expect(await core.installationCheck.look()).to.equal('restoring')
    const report = await restore(restoring(core, folder), { ...SAID, reason: 'another' })
    expect(report).to.include({ copy: false, ledgers: companies.length, other_logs: 1, lost_after: SAID.lost_after })
    expect(await core.installationCheck.look()).to.equal(null)
    for (const companyId of companies) {
      const recorded = (await eventsOf(core, companyId)).filter(({ type }) => type === 'InstallationRestored')
      expect(recorded.map(({ data }) => data)).to.have.length(1)
      expect(recorded[0]?.data).to.deep.include({ lost_after: SAID.lost_after, reason: SAID.reason, copy: false })
    }
    const found = await write(core, 'Caio')
    if (isRefusal(lost) || isRefusal(found)) throw new Error('refused')
    expect(found).to.have.property('id').above(10_000)

    // Sealing continues after a signed statement.
    const after = await makeCheckpoint(core.sealing!, first)
    expect(after?.origin).to.equal(`${before?.origin}/2`)
    const ring = await knownRing(core.sealing!)
    const [kept] = await loadStatements(core.pool, join(folder, 'seals'), first)
    const keys = toVerifierKeys(ring, restoredName(ring.installationId))
    const said = openRestored(kept?.note ?? '', keys)
    expect(said).to.deep.include({ company_id: first, lost_after: SAID.lost_after, reason: SAID.reason })
    expect(said?.before).to.deep.include({ origin: before?.origin, size: before?.size })
    expect(said?.since).to.deep.include({ origin: after?.origin })
    expect(openRestored(kept?.note.replace('disco', 'nada') ?? '', keys)).to.equal(null)
    const [other] = await loadStatements(core.pool, join(folder, 'seals'), second)
    expect(openRestored(other?.note ?? '', keys)?.since?.origin).to.equal(
      `tillbook/${ring.installationId}/company-${second}`,
    )
    expect(await verifyLedger(core, first, {})).to.include({ valid: true })
    const [none] = await loadStatements(core.pool, join(folder, 'seals'), gone)
    expect(openRestored(none?.note ?? '', keys)).to.deep.include({ company_id: gone, since: null, hash: null })
    const next = await core.pool.query(`select nextval('ops.company_ids') as id`)
    expect(next.rows[0].id).to.be.above(gone)
    // The next start finds no inconsistency.
    await closeAll()
    core = await openOn(url, folder)
    expect(core.installationCheck.inconsistency()).to.equal(null)
  })

  it('a second machine is told by its location; a copy gets its own id [OPS-81] [OPS-86]', async () => {
    let core = await openOn(database.url, folder)
    await core.installationCheck.note()
    const { installation } = JSON.parse(await readFile(join(folder, 'installation.json'), 'utf8'))
    const joined = await openOn(database.url, join(folder, 'second'))
    expect(joined.installationCheck.inconsistency()).to.equal(null)
    const url = await backUp()
    core = await openOn(url, join(folder, 'copy'))
    expect(core.installationCheck.inconsistency()).to.equal('copied')
    const shared = await restore(restoring(core, folder), { ...SAID, copy: true }).catch(({ message }) => message)
    expect(shared).to.match(/^DATA_DIR is that of the installation/)
    const report = await restore(restoring(core, join(folder, 'copy')), { ...SAID, copy: true })
    expect(report).to.include({ copy: true, installation: COPY_ID })
    expect(await core.installationCheck.look()).to.equal(null)
    expect(core.installationCheck.isCopy()).to.equal(true)
    await closeAll()
    // Does not belong to the DATA_DIR of the original any more.
    core = await openOn(url, folder)
    expect(core.installationCheck.inconsistency()).to.equal('directory_of_another')
    expect(COPY_ID).not.to.equal(installation)
    const refused = await restore(restoring(core, folder), SAID).catch(({ message }) => message)
    expect(refused).to.include(`DATA_DIR is of installation ${installation}`)
  })

  it('is a new installation if it is empty: DATA_DIR files of another installation are set aside [OPS-81]', async () => {
    const before = await openOn(database.url, folder)
    await before.installationCheck.note()
    const { installation } = JSON.parse(await readFile(join(folder, 'installation.json'), 'utf8'))
    await closeAll()
    await mkdir(join(folder, 'seals'))
    await writeFile(join(folder, 'seals', 'kept'), '')
    await cloneDatabase(backup, TEMPLATES.withReadModel)
    const url = onDatabase(database.url, backup)
    await administer(url, (client) => client.query(`update ops.installation set id = '${COPY_ID}'`))
    const told: unknown[] = []
    const core = await openOn(url, folder, { log: (message, about) => told.push(message, about) })
    const former_seals = join(folder, `seals-${installation}`)
    expect(told).to.deep.equal([
      'installation: DATA_DIR of another installation taken over by a new one',
      { former_seals },
    ])
    expect(await readdir(former_seals)).to.deep.equal(['kept'])
    const api = await startApi(url)
    await api.company()
    await api.close()
    expect(await core.installationCheck.look()).to.equal(null)
  })

  describe('with ledgers in an outside store', () => {
    const EVENTSTORE_URL = 'esdb://admin:secret@store:2113?tls=false'
    const failure = (opening: Promise<Core>) =>
      opening.then(
        () => 'opened',
        ({ message }) => message as string,
      )

    it('refuses to start without its store, or with an empty, foreign or outdated one [OPS-82] [OPS-83]', async () => {
      const store = createOutsideStore()
      const where = { store, eventStoreUrl: EVENTSTORE_URL }
      await administer(database.ownerUrl, (client) => client.query('truncate ops.ledgers cascade'))
      let core = await openOn(database.url, folder, where)
      const api = await startApi(database.url, { store })
      companies = [(await api.company()).id]
      await api.close()
      await core.installationCheck.note()
      const { rows } = await core.pool.query('select event_store, id from ops.installation')
      expect(rows[0].event_store).to.equal('store:2113')
      await closeAll()

      expect(await failure(openOn(database.url, folder))).to.match(/set EVENTSTORE_URL to where they are/)
      expect(await failure(openOn(database.url, folder, { ...where, store: createOutsideStore() }))).to.match(
        /is empty/,
      )
      const earlier = createOutsideStore()
      for await (const event of store.read(`company-${companies[0]}`, 0))
        if (event.revision < 1)
          await earlier.append([{ stream: event.stream, expectedRevision: -1, commands: [[event]] }], {
            query: async () => ({ rows: [], rowCount: 0 }) as never,
          })
      expect(await failure(openOn(database.url, folder, { ...where, store: earlier }))).to.match(
        /lacks events that this database has applied/,
      )
      await administer(database.url, (client) => client.query(`update ops.installation set id = '${COPY_ID}'`))
      expect(await failure(openOn(database.url, folder, where))).to.match(/is of another installation/)
      await administer(database.url, (client) => client.query(`update ops.installation set id = '${rows[0].id}'`))

      // An unreachable store proves nothing: reads continue, and it is checked once it is back.
      store.down = true
      core = await openOn(database.url, folder, where)
      expect(core.installationCheck.inconsistency()).to.equal(null)
      store.down = false
      expect(await core.installationCheck.look()).to.equal(null)
    })
  })
})
