import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { startEmbedded } from '#postgres/embedded.ts'
import { useDatabase } from '../support/database.ts'
import { findEmbedded, serverPid } from '../support/find-embedded.ts'
import { programOf, TEST_SETTINGS, testProgramOf } from '../support/program.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { tillbook } from './tillbook.ts'

const HOLDER = 'test/support/embedded-holder.ts'
const FAST = { fsync: 'off', full_page_writes: 'off' }

const CREATE = ['company', 'create', '--name', 'Loja Azul', '--cnpj', '11222333000181', '--json']

describe('tillbook', () => {
  const database = useDatabase()

  it('prints exactly one JSON document with --json [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({ DATABASE_URL: database.url }, ...CREATE)
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
    expect(stdout.trimEnd()).not.to.include('\n')
    expect(JSON.parse(stdout)).to.include({ name: 'Loja Azul', plan: 'basic' })
  })

  it('reports a refusal on stderr, as JSON with --json, and exits with 1 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook(
      { DATABASE_URL: database.url },
      ...['key', 'list', '--company', '999', '--json'],
    )
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(JSON.parse(stderr)).to.deep.equal({
      error: { code: 'not_found', message: 'No such record.', details: { company_id: 999 } },
    })
  })

  it('names the flag and its value, what is wrong and what is right, in English [OPS-14]', async () => {
    const words = ['user', 'create', '--company', '1', '--name', 'Ana', '--email', 'ana@', '--role', 'owner']
    const { stderr } = await tillbook({ DATABASE_URL: database.url }, ...words, '--password', 'short')
    expect(stderr.trimEnd().split('\n')).to.deep.equal([
      'Invalid values; nothing was changed. (validation_failed)',
      '--email "ana@": must be an e-mail address, such as ana@example.com',
      '--password: must have 8 to 200 characters',
    ])
  })

  it('shows its usage for an unknown command, and exits with 2 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({}, 'company', 'destroy')
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.include('unknown verb "company destroy"').and.include('  company create ')
  })

  it('names an invalid setting [OPS-2]', async () => {
    const { code, stderr } = await tillbook({ DATABASE_URL: 'localhost' }, 'company', 'list')
    expect(code).to.equal(1)
    expect(stderr).to.include('DATABASE_URL should be')
  })

  describe('without an installation', () => {
    let parent: string
    let DATA_DIR: string

    before(async () => {
      parent = await mkdtemp(join(tmpdir(), 'tillbook-none-'))
      DATA_DIR = join(parent, 'data')
    })
    after(() => rm(parent, { recursive: true, force: true }))

    for (const words of [
      CREATE.slice(0, -1),
      ['company', 'list'],
      ['ledger', 'verify'],
      ['ledger', 'public-key'],
      ['master-key', 'rotate'],
      ['seal-key', 'rotate'],
      ['database', 'prepare'],
      ['restored', '--copy', '--lost-after', '2026-11-21T10:00:00Z', '--reason', 'teste'],
    ])
      it(`refuses "${words.slice(0, 2).join(' ')}", and makes none [OPS-154]`, async () => {
        const { code, stdout, stderr } = await tillbook({ DATA_DIR, MASTER_KEY: '' }, ...words)
        expect(stderr.trim()).to.equal(
          `no installation in ${DATA_DIR}; set DATA_DIR or start the service (no_installation)`,
        )
        expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
        expect(await readdir(parent)).to.deep.equal([])
      })

    it('names a folder below the present one as a relative path, and the code with --json [OPS-154]', async () => {
      const { code, stderr } = await tillbook({ DATA_DIR: './no-such-folder' }, 'company', 'list', '--json')
      expect(code).to.equal(1)
      expect(JSON.parse(stderr)).to.deep.equal({
        error: {
          code: 'no_installation',
          message: 'no installation in ./no-such-folder; set DATA_DIR or start the service',
        },
      })
    })

    it('takes the database of DATABASE_URL as the installation [OPS-154]', async () => {
      const { code, stderr } = await tillbook({ DATA_DIR, DATABASE_URL: database.url }, 'company', 'list')
      expect(code, stderr).to.equal(0)
    })

    it('needs none for files, help and other services [OPS-154]', async () => {
      const outcomes = {
        help: await tillbook({ DATA_DIR }, '--help'),
        file: await tillbook({ DATA_DIR }, 'ledger', 'verify', '--file', join(parent, 'missing.jsonl')),
        listen: await tillbook(
          { DATA_DIR },
          ...['listen', '--url', 'http://127.0.0.1:9', '--key', 'x', '--forward-to', 'http://127.0.0.1:9/'],
        ),
        witness: await tillbook({ DATA_DIR }, 'witness', '--url', 'http://127.0.0.1:9'),
      }
      for (const [what, { stdout, stderr }] of Object.entries(outcomes))
        expect(stdout + stderr, what)
          .not.to.include('no installation')
          .and.not.equal('')
      expect(outcomes.help.code).to.equal(0)
      expect(outcomes.file.stderr).to.include('missing.jsonl')
      expect(await readdir(parent)).to.deep.equal([])
    })
  })

  describe('with the embedded Postgres', function () {
    this.timeout(180_000)
    let dataDir: string

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'tillbook-cli-'))
    })
    after(() => rm(dataDir, { recursive: true, force: true }))

    it('uses the server of a running service, else starts and stops one [OPS-14] [OPS-152]', async () => {
      const service = await startEmbedded({ dataDir, settings: FAST })
      const beside = await tillbook({ DATA_DIR: dataDir }, ...CREATE)
      expect(beside.code, beside.stderr).to.equal(0)
      expect(await findEmbedded(dataDir)).to.equal(service.ownerUrl)
      await service.stop()
      const alone = await tillbook({ DATA_DIR: dataDir }, 'company', 'list', '--json')
      expect(alone.code, alone.stderr).to.equal(0)
      expect(JSON.parse(alone.stdout)).to.deep.equal([JSON.parse(beside.stdout)])
      expect(await findEmbedded(dataDir)).to.equal(null)
    })

    it('stops its own server on Ctrl-C [OPS-152]', async () => {
      const killed = spawn(process.execPath, [...testProgramOf(HOLDER), dataDir], { stdio: 'ignore' })
      const url = await until(() => findEmbedded(dataDir), { timeout_ms: 60_000, what: 'the server' })
      killed.kill('SIGKILL')
      await once(killed, 'exit')
      const locked = new pg.Client({ connectionString: url })
      locked.on('error', () => {})
      await locked.connect()
      await locked.query('begin; lock table read.companies')
      const command = spawn(process.execPath, programOf('src/cli/main.ts', 'company', 'list'), {
        env: { PATH: process.env.PATH, ...TEST_SETTINGS, DATA_DIR: dataDir },
        stdio: 'ignore',
      })
      const ended = once(command, 'exit')
      const waits = async () => {
        const { rowCount } = await administer(url, (client) =>
          client.query(
            `select from pg_stat_activity where application_name = 'tillbook command' and wait_event_type = 'Lock'`,
          ),
        )
        return rowCount === 1
      }
      await until(waits, { timeout_ms: 60_000, what: 'the command' })
      command.kill('SIGINT')
      expect(await ended).to.deep.equal([130, null])
      expect(await serverPid(dataDir)).to.equal(undefined)
    })
  })
})
