import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { snippetsOf } from '../support/snippets.ts'
import { openTill, type TestTill } from '../support/till.ts'

const snippets = snippetsOf('docs/pos-sync.md')
const scripts = snippets.filter(({ language }) => language === 'bash')
const programs = snippets.filter(({ language }) => language === 'ts')

describe('till guide', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let till: TestTill
  let workplace: Workplace
  let items: number[]

  before(async () => {
    api = await startApi(database.url)
    company = await api.company({ plan: 'api' })
    await company.paymentType('cash')
    await company.paymentType('credit_account')
    items = []
    for (const name of ['Café', 'Pão', 'Leite', 'Arroz']) {
      items.push((await company.post('/catalog/items', { name, price: '5.90', stock: '10' })).body.data.id)
    }
    till = await openTill(api.url, company)
    const { email, password } = till.user
    workplace = await openWorkplace({ BASE: api.url, EMAIL: email, PASSWORD: password, TOKEN: till.token })
  })
  after(async () => {
    await api.close()
    await workplace.close()
  })

  describe('with curl', () => {
    for (const [position, { heading, text }] of scripts.entries()) {
      it(`${position + 1}. ${heading} [OPS-17]`, async () => {
        if (heading === 'What changed since') {
          await company.call('PATCH', `/catalog/items/${items[0]}`, { price: '6.90' })
          await company.call('DELETE', `/catalog/items/${items[1]}`)
        }
        const { stdout } = await workplace.bash(text)
        expect(stdout).to.match(EXPECTED[heading] ?? /./)
      })
    }
  })

  describe('with TypeScript', () => {
    before(() => workplace.write(programs))

    const namesInCopy = async (): Promise<string[]> => {
      const { products } = await workplace.readJson<{ products: { name: string }[] }>('till.json')
      return products.map(({ name }) => name)
    }

    it('compiles strictly [OPS-17]', () => workplace.compile())

    it('copies all products, then created, changed and deactivated ones', async () => {
      expect((await workplace.runProgram('sync.ts')).stdout).to.match(/^3 products as of \d{4}-/)
      expect(await namesInCopy()).to.have.members(['Café', 'Leite', 'Arroz'])
      await company.call('DELETE', `/catalog/items/${items[2]}`)
      await company.post('/catalog/items', { name: 'Novo', price: '1.00' })
      expect((await workplace.runProgram('sync.ts')).stdout).to.match(/^3 products as of /)
      expect(await namesInCopy()).to.have.members(['Café', 'Novo', 'Arroz'])
    })

    it('uploads offline sales once', async () => {
      const sold = async () => (await company.get('/sales?origin=pdv&limit=200')).body.data.length as number
      const before = await sold()
      expect((await workplace.runProgram('upload.ts')).stdout).to.equal(
        '3 vendas processadas: 3 registradas, 0 com erro.\n',
      )
      expect(await sold()).to.equal(before + 3)
      expect(await workplace.readJson('queue.json')).to.deep.equal([])
    })

    it('detects conflicts, and downloads changes', async () => {
      await company.call('PATCH', `/catalog/items/${items[0]}`, { price: '7.50' })
      await company.call('DELETE', `/catalog/items/${items[3]}`)
      const { stdout } = await workplace.runProgram('conflicts.ts')
      expect(stdout.trim().split('\n')).to.have.members([`${items[0]} updated: 7.5`, `${items[3]} deleted: gone`])
      expect(await namesInCopy()).to.have.members(['Café', 'Novo'])
      expect((await workplace.runProgram('conflicts.ts')).stdout).to.equal('')
    })
  })
})

/** Expected output of each script, by section. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'Logging in': /^\{"id":\d+,"name":"[^"]+","email":"[^"]+","company_id":\d+\}$/m,
  'Am I connected': /^\{"success":true,"server_time":"[^"]+Z","company_id":\d+,.*"version":"1\.0"\}$/,
  Configuration: /"company": \{[\s\S]*"payment_types": \[[\s\S]*"role": "clerk"/,
  'First download': /^4$/m,
  'What changed since': /^\{"changed":\d,"deleted":\[\d+\]\}$/m,
  'Uploading sales':
    /^\{"status":"created","sale_id":(\d+),"warnings":\["price_differs"\]\}\n\{"status":"duplicate","sale_id":\1,"warnings":\["price_differs"\]\}$/m,
  'Cash sessions':
    /^(\{"offline_id":"caixa1-41-\d","status":"created"\}\n){3}(\{"offline_id":"caixa1-41-\d","status":"duplicate"\}\n?){3}$/,
  Conflicts: /^\{"has_conflicts":true,"conflicts":\[\{"id":\d+,"reason":"updated",.*"reason":"deleted",/m,
  Errors: /^\{"success":false,"message":"Há dados inválidos[^"]*","errors":\{"last_sync":\["deve ser/m,
}
