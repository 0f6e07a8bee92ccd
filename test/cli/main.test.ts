import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startEmbedded } from '#postgres/embedded.ts'
import { useDatabase } from '../support/database.ts'
import { findEmbedded } from '../support/find-embedded.ts'
import { tillbook } from './tillbook.ts'

const FAST = { fsync: 'off', full_page_writes: 'off' }

const CREATE = ['company', 'create', '--name', 'Loja Azul', '--cnpj', '11222333000181', '--json']

describe('tillbook', () => {
  const database = useDatabase()

  it('prints exactly one JSON document, and nothing else [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({ DATABASE_URL: database.url }, ...CREATE)
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
    expect(stdout.trimEnd()).not.to.include('\n')
    expect(JSON.parse(stdout)).to.include({ name: 'Loja Azul', plan: 'basic' })
  })

  it('tells of a refusal on stderr, as JSON when asked to, and ends with 1 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook(
      { DATABASE_URL: database.url },
      ...['key', 'list', '--company', '999', '--json'],
    )
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(JSON.parse(stderr)).to.deep.equal({
      error: { code: 'not_found', message: 'Registro não encontrado.', details: { company_id: 999 } },
    })
  })

  it('shows its usage when it does not understand, and ends with 2 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({}, 'company', 'destroy')
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.include('company create --name NAME --cnpj CNPJ')
  })

  it('says which setting is wrong [OPS-2]', async () => {
    const { code, stderr } = await tillbook({ DATABASE_URL: 'localhost' }, 'company', 'list')
    expect(code).to.equal(1)
    expect(stderr).to.include('DATABASE_URL should be')
  })

  describe('with the embedded Postgres', () => {
    let dataDir: string

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'tillbook-cli-'))
    })
    after(() => rm(dataDir, { recursive: true, force: true }))

    it('works beside a running service, whose server it leaves running; alone it starts one and stops it [OPS-14]', async () => {
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
  })
})
