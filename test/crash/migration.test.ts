import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import pg from 'pg'
import { killedAfter, tillbook } from '../cli/tillbook.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { ownerUrlOf, useDatabase } from '../support/database.ts'
import { rowsOf, tracesOf } from '../support/migrating.ts'
import { DEPTH } from '../support/random.ts'
import { administer, onDatabase } from '../support/server.ts'

/** Number of kills, each at a random moment of a migration. */
const KILLS = 2 * DEPTH
/** Approximate duration of a small migration, mostly program start. */
const LONGEST_MS = 3_000

describe('killed migration', () => {
  const database = useDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'tillbook-move-'))
  let south: string
  let env: Readonly<Record<string, string>>
  let api: TestApi

  before('add a shard', async () => {
    south = onDatabase(database.url, `${new URL(database.url).pathname.slice(1)}_south`)
    const name = new URL(south).pathname.slice(1)
    await administer(ownerUrlOf(database.url), async (client) => {
      await client.query(`create database ${name}`)
      await client.query(`grant create on database ${name} to ${new URL(south).username}`)
    })
    env = {
      DATABASE_URL: database.url,
      DATABASE_OWNER_URL: database.ownerUrl,
      SHARDS: `south=${south}`,
      SHARDS_OWNER_URLS: `south=${ownerUrlOf(south)}`,
      DATA_DIR: dataDir,
    }
    await done('shard', 'add', 'south')
    api = await startApi(database.url)
  })
  after('remove it', async () => {
    await api.close()
    await administer(ownerUrlOf(database.url), (client) =>
      client.query(`drop database if exists ${new URL(south).pathname.slice(1)} with (force)`),
    )
    rmSync(dataDir, { recursive: true, force: true })
  })

  const done = async (...words: string[]) => {
    const { code, stdout, stderr } = await tillbook(env, ...words, '--json')
    expect(code, stderr).to.equal(0)
    return JSON.parse(stdout)
  }

  describe('repeated', () => {
    let company: TestCompany

    before('sell', async () => {
      company = await api.company()
      const cash = await company.paymentType('cash')
      for (let n = 0; n < 3; n += 1)
        await company.post('/sales', {
          items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
          payments: [{ payment_type_id: cash, amount: '5.00' }],
        })
      await onOwner(database.url, (client) =>
        client.query(`insert into ops.company_shards (company_id, shard) values ($1, 'main') on conflict do nothing`, [
          company.id,
        ]),
      )
    })

    for (let kill = 0; kill < KILLS; kill += 1) {
      const to = kill % 2 === 0 ? 'south' : 'main'
      it(`completes, to ${to} [SHARD-56]`, async () => {
        const [there, here] = to === 'south' ? [south, database.url] : [database.url, south]
        const words = ['company', 'move', String(company.id), '--to', to, '--wait', '0']
        await killedAfter(env, 300 + Math.round(Math.random() * LONGEST_MS), ...words)
        const moved = await done(...words).catch((error: Error) => {
          // The killed command had already completed.
          if (!error.message.includes('já está nesse shard')) throw error
        })
        if (moved) expect(moved.revision).to.equal(5)
        expect(await tracesOf(there, company.id)).to.deep.equal([])
        expect(await tracesOf(here, company.id)).to.deep.equal(['left'])
        expect(await onOwner(here, (client) => rowsOf(client as unknown as pg.Pool, company.id))).to.equal(0)
        expect(await done('projections', 'verify', String(company.id))).to.deep.include({ company_id: company.id })
        expect(await done('ledger', 'verify', '--company', String(company.id))).to.include({ valid: true })
      })
    }
  })

  it('continues while a shard is drained, which is empty afterwards [SHARD-10, SHARD-56]', async () => {
    const words = ['shard', 'drain', 'main', '--move', '--wait', '0']
    const { companies } = await done('shard', 'drain', 'main')
    const here = await api.company()
    await onOwner(database.url, (client) =>
      client.query(`insert into ops.company_shards (company_id, shard) values ($1, 'main')`, [here.id]),
    )
    await killedAfter(env, 'company 1 to south', ...words)
    expect(await done(...words)).to.include({ draining: true, companies: 0 })
    expect(await done('shard', 'drain', 'main', '--undo')).to.include({ draining: false, companies: 0 })
    const south = (await done('shard', 'list')).find(({ name }: { name: string }) => name === 'south')
    expect(south.companies).to.equal(companies + 1)
  })

  it('refuses to end the draining of a shard and to empty it at once [SHARD-10]', async () => {
    const { code, stderr } = await tillbook(env, 'shard', 'drain', 'south', '--undo', '--move')
    expect(code).to.equal(1)
    expect(stderr).to.include('--undo')
  })

  it('refuses to empty a shard when no other accepts companies [SHARD-10]', async () => {
    await done('shard', 'drain', 'main')
    const { code, stderr } = await tillbook(env, 'shard', 'drain', 'south', '--move', '--wait', '0')
    expect(code).to.equal(1)
    expect(stderr).to.include('nenhum outro shard')
  })

  async function onOwner<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: ownerUrlOf(url) })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
})
