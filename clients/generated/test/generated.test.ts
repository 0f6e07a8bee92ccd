import { execFile, spawnSync } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { TestCompany } from '../../../test/support/api.ts'
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
    const { cancelled, settled, refused, ...same } = JSON.parse(output)
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

  const title = 'of NSwag, in C#, compile, sell, replay, cancel, list, settle and register a webhook [HTTP-60]'
  if (!hasDotnet()) console.log(`skipped, because there is no .NET SDK (dotnet): clients ${title}`)
  else
    it(title, async () => {
      const folder = `${OUT}/csharp`
      await cp(`${FOLDER}csharp`, folder, { recursive: true })
      const dotnet = (...args: string[]) => running('dotnet', args, DOTNET, folder)
      await dotnet('tool', 'restore')
      await dotnet('nswag', 'openapi2csclient', '/input:../openapi.json', '/output:Client.cs', ...NAMES)
      await dotnet('build', '--nologo', '-v', 'q', '-o', 'built')
      const env = { ...DOTNET, BASE: api.url, KEY: company.key }
      await expectCalls(await running('dotnet', ['built/Program.dll'], env, folder), company)
    })
})

const NAMES = ['/namespace:Tillbook', '/classname:TillbookClient']

/** No server of the compiler stays behind. */
const DOTNET = {
  DOTNET_NOLOGO: 'true',
  DOTNET_CLI_TELEMETRY_OPTOUT: 'true',
  DOTNET_SKIP_FIRST_TIME_EXPERIENCE: 'true',
  MSBUILDDISABLENODEREUSE: '1',
  UseSharedCompilation: 'false',
}
