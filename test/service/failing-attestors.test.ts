import { expect } from 'chai'
import { attestationStatuses, noteAttestors } from '#integrity/attestations.ts'
import type { NamedAttestor } from '#integrity/attestors.ts'
import { failingForADay, failureText, tellOperator } from '#service/process-roles.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const WITNESS: NamedAttestor = { source: 'w.example/1', kind: 'cosignature', host: 'w.example' }
const AUTHORITY: NamedAttestor = { source: 'https://tsa.example/tsr', kind: 'time_stamp', host: 'tsa.example' }
const FOLDER: NamedAttestor = { source: '/copies', kind: 'copy', host: null }

describe('attestors that fail for a day', () => {
  const api = useApi(OWN_DATABASE)
  const states = (settings: readonly NamedAttestor[] = []) => attestationStatuses(api.core.pool, settings)
  const failFor = (hours: number) =>
    api.core.pool.query(
      `update ops.attestors set failures = 30, problem = 'unreachable', detail = 'answered 503',
         failing_since = clock_timestamp() - make_interval(hours => $1) where source = $2`,
      [hours, WITNESS.source],
    )

  beforeEach(() => noteAttestors(api.core.pool, [WITNESS, AUTHORITY, FOLDER]))

  it('are those of the service without its settings, by kind; removed ones are forgotten', async () => {
    const named = async () =>
      (await states()).map(({ source, kind, host, problem }) => ({ source, kind, host, problem }))
    const sound = (attestor: NamedAttestor) => ({ ...attestor, problem: null })
    expect(await named()).to.deep.equal(
      [FOLDER, WITNESS, AUTHORITY].map(sound).sort((a, b) => (a.kind < b.kind ? -1 : 1)),
    )
    await noteAttestors(api.core.pool, [AUTHORITY])
    expect(await named()).to.deep.equal([sound(AUTHORITY)])
    expect((await states([FOLDER])).map(({ source }) => source)).to.deep.equal([FOLDER.source])
  })

  it('are told with host, time and reason from then on [PROOF-720]', async () => {
    await failFor(23)
    expect(failingForADay(await states(), Date.now())).to.deep.equal([])
    await failFor(25)
    const [failing, ...others] = failingForADay(await states([WITNESS, FOLDER]), Date.now())
    expect(others).to.deep.equal([])
    expect(failing && failureText(failing)).to.match(
      /^w\.example\/1 \(w\.example\) since 20[\d-]+T[\d:.]+Z: unreachable, answered 503$/,
    )
  })

  it('are told to the operator by one e-mail, again if it was not sent [PROOF-720]', async () => {
    const sent: string[] = []
    let isDown = true
    const mailer = {
      async send({ to, text }: { readonly to: readonly string[]; readonly text: string }) {
        if (isDown) throw new Error('the mail server is down')
        sent.push(`${to} ${text}`)
        return []
      },
      close: () => {},
    }
    const tell = () => tellOperator(api.core.pool, mailer, 'operador@loja.example')
    await failFor(23)
    await tell()
    await failFor(25)
    expect(await tell().catch((error: Error) => error.message)).to.equal('the mail server is down')
    isDown = false
    for (let n = 0; n < 3; n++) await tell()
    expect(sent).to.have.length(1)
    expect(sent[0]).to.match(/^operador@loja\.example .*w\.example.*unreachable, answered 503/s)
  })
})
