import { expect } from 'chai'
import { curlOf } from '#api/docs/curl.ts'
import { siteOf } from '#api/docs/site.ts'
import { publishedContracts } from '#service/app.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { openTill } from '../support/till.ts'

/** Answers that say that a request was understood: records of the example may be missing. */
const UNDERSTOOD =
  /^(200|201|202|204|207|403 not_test_company|404 not_found|409 \w+|422 (insufficient_stock|payment_mismatch|validation_failed)|401|400 invalid_notification)$/

describe('curl commands of the API documentation', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let workplace: Workplace

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await company.paymentType('cash')
    const { token } = await openTill(api.url, company)
    workplace = await openWorkplace({ KEY: company.key, TOKEN: token })
  })
  after(async () => {
    await workplace.close()
    await api.close()
  })

  const answerTo = async (command: string): Promise<string> => {
    const { stdout } = await workplace.bash(`${command} -s -m 20 -w '\n%{http_code}'`)
    const lines = stdout.split('\n')
    const status = lines.pop() ?? ''
    const body = lines.join('\n')
    const code = body.startsWith('{"error"') ? JSON.parse(body).error.code : ''
    return `${status} ${code}`.trim()
  }

  it('are understood by the service, for every operation [HTTP-50]', async () => {
    const site = siteOf(api.url, publishedContracts(api.url))
    const odd: string[] = []
    let count = 0
    // The token is used until the end.
    const last = ['refreshToken', 'logout', 'resetTestCompany']
    for (const resource of site.resources)
      for (const documented of resource.operations) {
        const { operationId = '' } = documented.operation
        const command = curlOf(site.publicUrl, resource, documented)
        if (last.includes(operationId) || command.includes('curl -N')) continue
        count += 1
        const answer = await answerTo(command)
        if (!UNDERSTOOD.test(answer)) odd.push(`${operationId}: ${answer}`)
      }
    expect(odd).to.deep.equal([])
    expect(count).to.be.above(90)
  })

  it('register the example of a sale once its customer and items exist [HTTP-50]', async () => {
    const site = siteOf(api.url, publishedContracts(api.url))
    await company.post('/catalog/items', { external_id: 'CAFE-500', name: 'Café torrado 500 g', price: '18.90' })
    await company.call('PUT', '/customers/by-external/CLI-001', { name: 'Maria da Silva' })
    for (const resource of site.resources)
      for (const documented of resource.operations)
        if (documented.operation.operationId === 'createSale')
          expect(await answerTo(curlOf(site.publicUrl, resource, documented))).to.match(
            /^(201|409 duplicate_resource)$/,
          )
  })
})
