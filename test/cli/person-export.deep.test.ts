import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { programOf } from '../support/program.ts'
import { snippetsOf } from '../support/snippets.ts'
import { useCompany } from '../support/use-api.ts'
import { tillbook } from './tillbook.ts'

describe('tillbook person export', function () {
  this.timeout(60_000)
  const { api, company } = useCompany()
  let workplace: Workplace | undefined

  after(() => workplace?.close())

  it('writes both files as docs/privacy.md describes, readable by their owner only [PRIV-50]', async () => {
    const { body } = await company.post('/customers', { name: 'Ana', notes: 'prefere de manhã' })
    const settings = { COMPANY: String(company.id), SUBJECT: `customer/${body.data.id}`, FOLDER: 'dados' }
    workplace = await openWorkplace({ ...settings, DATABASE_URL: api.databaseUrl, HOME: process.env.HOME ?? '' })
    const [snippet] = snippetsOf('docs/privacy.md').filter(({ file }) => file === 'export-person')
    const command = [process.execPath, ...programOf('src/cli/main.ts')].map((word) => `'${word}'`).join(' ')
    await workplace.bash(`npm() { shift 4; ${command} "$@"; }\n${snippet?.text}`)
    const path = join(workplace.directory, 'dados', `customer-${body.data.id}`)
    const { record, events } = JSON.parse(await readFile(`${path}.json`, 'utf8'))
    expect(record).to.include({ name: 'Ana', notes: 'prefere de manhã' })
    expect(events).to.have.length(1)
    expect(await readFile(`${path}.html`, 'utf8')).to.include('prefere de manhã')
    for (const ending of ['json', 'html']) expect((await stat(`${path}.${ending}`)).mode & 0o777).to.equal(0o600)
  })

  it('refuses a selector that matches no person [PRIV-50]', async () => {
    const asked = (subject: string) =>
      tillbook(
        { DATABASE_URL: api.databaseUrl },
        'person',
        'export',
        '--company',
        String(company.id),
        '--subject',
        subject,
      )
    const [nobody, nothing] = [await asked('customer/999999999'), await asked('sale/1')]
    expect([nobody.code, nothing.code]).to.deep.equal([1, 1])
    expect(nobody.stderr).to.include('not_found')
    expect(nothing.stderr).to.include('customer/9, supplier/3, user/4 ou order/5')
  })
})
