import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readDemoFile } from '#demo/companies/demo-seed.ts'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace } from '../support/guide.ts'
import { type Service, startService } from '../support/process.ts'
import { snippetsOf } from '../support/snippets.ts'

/** The scripts of a guide, without the section that opens several terminals. */
const scriptsOf = (guide: string) =>
  snippetsOf(`docs/${guide}.md`).filter(({ language, heading }) => language === 'bash' && heading !== 'Ten minutes')

const GUIDES = ['pos-sync', 'integrators', 'webhooks'] as const

/** Lines that scripts must print in a demonstration company, by section; unlisted ones must only succeed. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'Uploading sales':
    /^\{"status":"created","sale_id":(\d+),"warnings":\[\]\}\n\{"status":"duplicate","sale_id":\1,"warnings":\[\]\}\n$/,
  Conflicts: /^\{"has_conflicts":false,"conflicts":\[\]\}\n$/,
  'Idempotency and retries': /^(\{"id":\d+,"total":"37\.80","change":"12\.20"\}\n)\1Idempotent-Replayed: true/i,
  Accounts:
    /^(\{"status":"settled","payment_method":"pix"\}\n|(\{"amount":"33\.3[34]","due_date":"[-\d]+"\}\n){3}\{"status":"pending","open_amount":"33\.34"\}\n)$/,
  'Register an address': /^\{"id":\d+,"status":"active"/,
}

describe('guides in the demonstration companies', function () {
  this.timeout(180_000)
  const database = useDatabase()
  let directory: string
  let service: Service

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-demo-'))
    const settings = { DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent' }
    service = await startService(
      { ...settings, SEED_DEMO: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' },
      { timeout_ms: 120_000 },
    )
  })
  after(async () => {
    await service.stop()
    await rm(directory, { recursive: true })
  })

  // The third company has no API; its tills work all the same.
  for (const guide of GUIDES)
    for (const position of guide === 'pos-sync' ? [0, 1, 2] : [0, 1])
      it(`${guide}: prints no error in company ${position + 1} of demo.json [OPS-17]`, async () => {
        const company = (await readDemoFile(join(directory, 'demo.json')))?.companies[position]
        if (!company) throw new Error('demo.json has fewer companies')
        const { email, password } = company.user
        const { body } = await send(`${service.url}/api/auth/login`, 'POST', { email, password })
        const workplace = await openWorkplace({
          BASE: service.url,
          EMAIL: email,
          PASSWORD: password,
          TOKEN: body.data.token,
          KEY: company.api_key,
          URL: 'http://127.0.0.1:9/',
        })
        try {
          for (const { heading, text } of scriptsOf(guide)) {
            const { stdout } = await workplace.bash(text)
            expect(stdout, heading).to.match(EXPECTED[heading] ?? /^/)
          }
        } finally {
          await workplace.close()
        }
      })

  it('names its three companies', async () => {
    const { companies } = JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8'))
    expect(companies).to.have.length(3)
  })
})
