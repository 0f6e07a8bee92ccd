import { expect } from 'chai'
import { curlOf } from '#api/docs/docs-page.tsx'
import { siteOf } from '#api/docs/site.ts'
import { publishedContracts } from '#service/interfaces.ts'
import { send, type TestCompany } from '../support/api.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { openTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

/** Answers that say that a request was understood: records of the example may be missing. */
const UNDERSTOOD =
  /: (200|201|202|204|207|403 not_test_company|404 not_found|409 \w+|422 (insufficient_stock|payment_mismatch|validation_failed)|401|400 invalid_notification)$/

describe('curl commands of the API documentation', function () {
  this.timeout(180_000)
  const api = useApi()
  let company: TestCompany
  let workplace: Workplace

  before(async () => {
    company = await api.company()
    await company.paymentType('cash')
    const { token } = await openTill(api.url, company)
    workplace = await openWorkplace({ KEY: company.key, TOKEN: token })
  })
  after(async () => {
    await workplace.close()
  })

  /** The arguments that a shell gives curl, of each command. */
  async function argumentsOf(commands: readonly string[]): Promise<string[][]> {
    const curl = `curl() { printf '%s\\x1f' "$@"; printf '\\x1e'; }`
    const { stdout } = await workplace.bash(`${curl}\n${commands.join('\n')}`)
    return stdout
      .split('\x1e')
      .slice(0, -1)
      .map((one) => one.split('\x1f').slice(0, -1))
  }

  /** Sends what curl would send: status of the answer, and code of an error. */
  async function answerTo(given: readonly string[]): Promise<string> {
    const valuesOf = (flag: string) => given.flatMap((one, position) => (given[position - 1] === flag ? [one] : []))
    const flags = ['-X', '-H', '-d', '-N']
    const [url = '', ...others] = given.filter(
      (one, n) => !flags.includes(one) && !['-X', '-H', '-d'].includes(given[n - 1] ?? ''),
    )
    expect(others).to.deep.equal([])
    const headers = Object.fromEntries(
      valuesOf('-H').map((line) => {
        const [name = '', value = ''] = line.split(/: (.*)/)
        return [name.toLowerCase(), value]
      }),
    )
    const reply = await send(url, valuesOf('-X')[0] ?? 'GET', valuesOf('-d')[0], headers)
    return `${reply.status} ${reply.body?.error?.code ?? ''}`.trim()
  }

  it('are understood by the service, for every operation [HTTP-50]', async () => {
    const site = siteOf(api.url, publishedContracts(api.url))
    // The token is used until the end, and a stream does not end.
    const omitted = ['refreshToken', 'logout', 'resetTestCompany', 'streamEvents']
    const documented = site.resources.flatMap((resource) =>
      resource.operations
        .filter(({ operation }) => !omitted.includes(operation.operationId ?? ''))
        .map((one) => ({ id: one.operation.operationId, command: curlOf(site.publicUrl, resource, one) })),
    )
    expect(documented.length).to.be.above(90)
    const commands = await argumentsOf(documented.map(({ command }) => command))
    const answers: string[] = []
    for (const given of commands) answers.push(await answerTo(given))
    expect(answers).to.have.length(documented.length)
    const odd = answers
      .map((answer, position) => `${documented[position]?.id}: ${answer}`)
      .filter((line) => !UNDERSTOOD.test(line))
    expect(odd).to.deep.equal([])
  })
})
