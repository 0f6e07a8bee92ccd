import { execFile, spawnSync } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { TestCompany } from '../../../test/support/api.ts'
import { operations } from '../../../test/support/contract.ts'
import { useCompanyPerTest } from '../../../test/support/use-api.ts'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('..', import.meta.url))
const OUT = `${FOLDER}out`
const TSX = import.meta.resolve('tsx')
const COMPILER = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

/** Runs a program in a folder, by default that of the clients. Its output is that of a failure too. */
async function running(command: string, args: readonly string[], env: object = {}, cwd = FOLDER): Promise<string> {
  const { stdout } = await run(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 24 }).catch(
    ({ message, stdout, stderr }) => expect.fail(`${message}\n${stdout}\n${stderr}`),
  )
  return stdout
}

/** Generators of clients, as their documentation tells to call them. */
const GENERATORS: Readonly<Record<string, readonly string[]>> = {
  'hey-api': ['openapi-ts', '-i', './out/openapi.json', '-o', './out/hey-api'],
  orval: ['orval', '--config', 'orval.config.mjs'],
  // Without the option, a field of a request with a default counts as required.
  'openapi-typescript': [
    'openapi-typescript',
    './out/openapi.json',
    '-o',
    './out/openapi-typescript.ts',
    '--default-non-nullable=false',
  ],
}

/** Whether there is a .NET SDK. */
function hasDotnet(): boolean {
  const { status } = spawnSync('dotnet', ['--version'], { stdio: 'ignore' })
  return status === 0
}

interface DotnetGenerator {
  readonly folder: string
  readonly command: readonly string[]
  /** Lists that the program calls with a time. */
  readonly momentsOf: () => string[]
}

/** The commands of README.md, with the folders of this test. */
const DOTNET_GENERATORS: Readonly<Record<string, DotnetGenerator>> = {
  NSwag: {
    folder: 'csharp',
    command: [
      'nswag',
      'openapi2csclient',
      '/input:../openapi.json',
      '/output:Client.cs',
      '/namespace:Tillbook',
      '/classname:TillbookClient',
      '/parameterDateTimeFormat:o',
    ],
    momentsOf: () => listsWith('date-time', 'date'),
  },
  Kiota: {
    folder: 'kiota',
    command: [
      'kiota',
      'generate',
      '-l',
      'CSharp',
      '-d',
      '../openapi.json',
      '-o',
      'Client',
      '-n',
      'Tillbook',
      '-c',
      'TillbookClient',
    ],
    momentsOf: () => listsWith('date-time'),
  },
}

describe('clients generated from the contract', function () {
  // Compilers of other languages, on a machine that may be busy.
  this.timeout(600_000)
  const { api, company } = useCompanyPerTest()

  before('generate clients from the contract as the service shows it', async () => {
    await rm(OUT, { recursive: true, force: true })
    await mkdir(OUT)
    const contract = await fetch(`${api.url}/api/v1/openapi.json`)
    await writeFile(`${OUT}/openapi.json`, await contract.text())
    const generate = ([program = '', ...words]: readonly string[]) =>
      running(`${FOLDER}node_modules/.bin/${program}`, words)
    await Promise.all(Object.values(GENERATORS).map(generate))
  })

  beforeEach(async () => {
    await company.paymentType('cash')
    for (const name of ['Ana', 'Bento', 'Clara', 'Davi']) await company.post('/customers', { name })
  })

  /** What each program prints, and what the service has then. */
  async function expectCalls(output: string, shop: TestCompany): Promise<void> {
    const { cancelled, settled, refused = '404', cleared, refusals, failed, moments, ...same } = JSON.parse(output)
    expect(same).to.deep.equal({
      customer: { name: 'Maria da Silva', email: null },
      item: { gtin: null, stock: '10.000' },
      sale: { total: '37.80', change: '2.20', is_same: true },
      names: ['Ana', 'Bento', 'Clara', 'Davi', 'Maria da Silva'],
      webhook: { url: 'https://tillbook.example/hook', secret: 'whsec_' },
    })
    expect(String(refused)).to.match(/^(not_found|404)$/)
    // Generated enums of C# begin with a capital.
    expect([cancelled.status, settled.status, settled.method].map((text) => text.toLowerCase())).to.deep.equal([
      'cancelled',
      'settled',
      'pix',
    ])
    expect(cancelled.reason).to.equal('Cliente desistiu')
    const sales = (await shop.get('/sales')).body.data
    expect(sales).to.have.length(1)
    expect(sales[0]).to.include({ status: 'cancelled', external_id: 'PEDIDO-1' })
    expect((await shop.get('/finance/receivables')).body.data[0]).to.include({ status: 'settled', amount: '37.80' })
    expect((await shop.get('/webhooks')).body.data).to.have.length(1)
  }

  for (const name of Object.keys(GENERATORS)) {
    it(`of ${name} sell, replay, cancel, list, settle and register a webhook [HTTP-60]`, async () => {
      const env = { BASE: api.url, KEY: company.key }
      await expectCalls(await running(process.execPath, ['--import', TSX, `programs/${name}.ts`], env), company)
    })
  }

  it('in TypeScript compile strictly [HTTP-60]', async () => {
    await running(process.execPath, [COMPILER, '-p', '.'])
  })

  for (const [name, { folder: source, command, momentsOf }] of Object.entries(DOTNET_GENERATORS)) {
    const title = `of ${name}, in C#, sell, list by time, clear fields and read each refusal [HTTP-60]`
    if (!hasDotnet()) {
      console.log(`skipped, because there is no .NET SDK (dotnet): clients ${title}`)
      continue
    }
    it(title, async () => {
      const folder = `${OUT}/${source}`
      await cp(`${FOLDER}${source}`, folder, { recursive: true })
      const dotnet = (...args: string[]) => running('dotnet', args, DOTNET, folder)
      await dotnet('tool', 'restore')
      expect(await dotnet(...command)).to.not.match(/\bwarn/i)
      await dotnet('build', '--nologo', '-v', 'q', '-o', 'built')
      const env = { ...DOTNET, BASE: api.url, KEY: company.key }
      const output = await running('dotnet', ['built/Program.dll'], env, folder)
      await expectCalls(output, company)
      const { cleared, refusals, failed, moments } = JSON.parse(output)
      expect([cleared, failed]).to.deep.equal([null, ['1 B duplicate_resource name']])
      expect(refusals.map((text: string) => text.trim())).to.deep.equal([
        '401 missing_token',
        '404 not_found',
        '409 duplicate_resource name',
        '422 validation_failed name',
        '422 insufficient_stock 50.000',
      ])
      expect(moments.map((text: string) => text.toLowerCase().replace(/async$/, ''))).to.have.members(momentsOf())
    })
  }
})

/** Operations with a query parameter of one of the formats. */
const listsWith = (...formats: string[]): string[] =>
  operations
    .filter(({ id, node }) => id !== 'streamEvents' && node.parameters?.some((one) => formats.includes(formatOf(one))))
    .map(({ id }) => id.toLowerCase())

const formatOf = (parameter: object): string =>
  (parameter as { in?: string }).in === 'query'
    ? String((parameter as { schema?: { format?: string } }).schema?.format)
    : ''

/** No server of the compiler stays behind, and no generator looks for a newer one. */
const DOTNET = {
  KIOTA_OFFLINE_ENABLED: 'true',
  DOTNET_NOLOGO: 'true',
  DOTNET_CLI_TELEMETRY_OPTOUT: 'true',
  DOTNET_SKIP_FIRST_TIME_EXPERIENCE: 'true',
  MSBUILDDISABLENODEREUSE: '1',
  UseSharedCompilation: 'false',
}
