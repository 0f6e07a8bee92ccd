import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { SMTPServer } from 'smtp-server'
import { createMailer, invitationEmail, toShopBrand } from '#access/email.ts'
import { createUser, deactivateUser } from '#commands/user-commands.ts'
import { enableWebhook, switchOffWebhook } from '#commands/webhook-commands.ts'
import { fullReader } from '#queries/reader.ts'
import { failingEndpoints } from '#queries/webhook-queries.ts'
import { noteOutages, startEmailNotifications } from '#webhooks/endpoint-health.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'

interface Letter {
  readonly to: string[]
  readonly text: string
}

/** Text of an e-mail without its transfer encoding. */
function readableOf({ text }: Letter): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_match, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

describe('e-mail notifications', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let smtp: SMTPServer
  let url: string
  const letters: Letter[] = []
  /** Errors for the next messages, in order. */
  const refusals: Error[] = []

  before(async () => {
    api = await startApi(database.url)
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, { envelope }, done) {
        const chunks: Buffer[] = []
        stream
          .on('data', (chunk) => chunks.push(chunk))
          .on('end', () => {
            const refusal = refusals.shift()
            if (!refusal) {
              letters.push({
                to: envelope.rcptTo.map(({ address }) => address),
                text: Buffer.concat(chunks).toString(),
              })
            }
            done(refusal)
          })
      },
    })
    await new Promise<void>((done) => smtp.listen(0, '127.0.0.1', done))
    url = `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`
  })
  after(async () => {
    await new Promise<void>((done) => smtp.close(done))
    await api.close()
  })
  beforeEach(async () => {
    letters.length = 0
    await api.core.pool.query('delete from notifications')
    company = await api.company({ timezone: 'America/Manaus' })
  })

  const user = (email: string, role: 'owner' | 'clerk') =>
    company.run(createUser, { name: 'Pessoa', email, role, password_hash: 'x' })
  const switchedOff = async (reason: 'no_response' | 'gone' | 'requested' = 'no_response') => {
    const { id } = (await company.post('/webhooks', { url: 'https://erp.example/ganchos', events: ['basic'] })).body
      .data
    await company.run(switchOffWebhook, { id, reason })
    return id as number
  }
  const stored = async () => {
    const { rows } = await api.core.pool.query('select email_tries, emailed_at, next_email_at from notifications')
    return rows
  }
  /** Runs the notifications until `done`, and collects their warnings and errors. */
  async function whileTelling(done: () => unknown, { mail = url, retrySeconds = [60] } = {}) {
    const warnings: object[] = []
    const errors: unknown[] = []
    const mailer = mail ? createMailer(mail, 'Tillbook <avisos@tillbook.example>') : null
    const log = (_message: string, error: unknown) => errors.push(error)
    const warn = (_message: string, details: object) => warnings.push(details)
    const notices = startEmailNotifications({
      pool: api.core.pool,
      mailer,
      publicUrl: 'https://loja.example',
      log,
      warn,
      retrySeconds,
    })
    try {
      await until(done)
    } finally {
      await notices.stop()
    }
    return { warnings, errors }
  }
  const settled = async () => (await stored()).every(({ next_email_at }) => next_email_at === null)

  it('go to the active users of the company, in Portuguese, once [HOOK-20, OPS-21]', async () => {
    const [one, other, clerk] = ['ana', 'bia', 'caixa'].map((name) => `${name}-${company.id}@loja.example`) as [
      string,
      string,
      string,
    ]
    await user(other, 'owner')
    await user(one, 'owner')
    await user(clerk, 'clerk')
    const { id: gone } = await user(`saiu-${company.id}@loja.example`, 'clerk')
    await company.run(deactivateUser, { id: gone })
    const stranger = await api.company()
    await stranger.run(createUser, {
      name: 'Outra',
      email: `x-${stranger.id}@loja.example`,
      role: 'owner',
      password_hash: 'x',
    })
    const id = await switchedOff()
    const { errors, warnings } = await whileTelling(settled)
    expect([errors, warnings]).to.deep.equal([[], []])
    expect(letters).to.have.length(1)
    expect(letters[0]!.to).to.deep.equal([one, other, clerk])
    const readable = readableOf(letters[0]!)
    expect(readable)
      .to.include(`Subject: Webhook ${id} desligado`)
      .and.include('From: Tillbook <avisos@tillbook.example>')
    expect(readable).to.include('https://erp.example/ganchos').and.include('todas as tentativas de entrega falharam')
    expect(readable)
      .to.include(`Loja ${company.id}`)
      .and.match(/\d\d\/\d\d\/\d{4}\u00A0\d\d:\d\d/)
    expect(readable).to.include(`https://loja.example/painel/integracoes/webhooks/${id}`).and.not.include('/api/')
    const [notice] = await stored()
    expect(notice).to.include({ email_tries: 1, next_email_at: null })
    expect(notice!.emailed_at).to.be.a('string')
  })

  it('are not created if a user disabled the webhook', async () => {
    await switchedOff('requested')
    expect(await stored()).to.deep.equal([])
  })

  it('are retried with the same Message-ID after a temporary refusal of the server [OPS-21]', async () => {
    await user(`ana-${company.id}@loja.example`, 'owner')
    await switchedOff('gone')
    refusals.push(Object.assign(new Error('try again later'), { responseCode: 451 }))
    const { errors } = await whileTelling(settled, { retrySeconds: [0.05, 60] })
    expect(errors).to.have.length(1)
    expect(letters).to.have.length(1)
    const { rows } = await api.core.pool.query<{ id: string }>('select id from notifications')
    expect(letters[0]!.text).to.include(`Message-ID: <${rows[0]!.id}@tillbook>`)
    expect((await stored())[0]).to.include({ email_tries: 2 })
  })

  it('are given up after the last retry, and stay in the list [OPS-21]', async () => {
    await user(`ana-${company.id}@loja.example`, 'owner')
    await switchedOff()
    const { errors } = await whileTelling(settled, { mail: 'smtp://127.0.0.1:1', retrySeconds: [0.01, 0.01] })
    expect(errors).to.have.length(3)
    expect(await stored()).to.deep.equal([{ email_tries: 3, emailed_at: null, next_email_at: null }])
  })

  it('are logged without the e-mail address if there is no mail server [OPS-21]', async () => {
    await user(`ana-${company.id}@loja.example`, 'owner')
    const id = await switchedOff()
    const { warnings } = await whileTelling(settled, { mail: '' })
    expect(warnings).to.deep.equal([
      { company_id: company.id, kind: 'webhook_switched_off', webhook_id: id, reason: 'no_response' },
    ])
    expect((await stored())[0]).to.include({ emailed_at: null })
  })

  it('are settled with a warning if a company has no users', async () => {
    await switchedOff()
    const { warnings } = await whileTelling(settled)
    expect(warnings).to.have.length(1)
    expect(letters).to.deep.equal([])
  })

  describe('of a failing endpoint', () => {
    const pool = () => api.core.pool
    const registered = async () =>
      (await company.post('/webhooks', { url: 'https://erp.example/ganchos', events: ['basic'] })).body.data
        .id as number
    /** Sets health columns as dispatchers store them; `watched_since` is two days ago. */
    const health = async (id: number, columns: string) => {
      const about = [company.id, id]
      await pool().query(
        `update read.webhooks set watched_since = now() - interval '2 days' where company_id = $1 and id = $2`,
        about,
      )
      await pool().query(
        'insert into webhook_health (company_id, webhook_id) values ($1, $2) on conflict do nothing',
        about,
      )
      await pool().query(`update webhook_health set ${columns} where company_id = $1 and webhook_id = $2`, about)
      await noteOutages(pool())
    }
    const kinds = async () =>
      (await pool().query<{ kind: string }>('select kind from notifications order by created_at')).rows.map(
        ({ kind }) => kind,
      )
    const failing = () => failingEndpoints(fullReader(pool(), company.id))

    it('notifies once per outage, after five minutes, and once after the recovery [HOOK-74, HOOK-75]', async () => {
      await user(`ana-${company.id}@loja.example`, 'owner')
      const id = await registered()
      await health(id, `failing_since = now() - interval '4 minutes'`)
      expect(await kinds()).to.deep.equal([])
      expect(await failing()).to.deep.equal([])
      await health(id, `failing_since = now() - interval '6 minutes'`)
      await health(id, `no_response_since = now()`)
      await Promise.all([noteOutages(pool()), noteOutages(pool())])
      expect(await kinds()).to.deep.equal(['webhook_failing'])
      const [one] = await failing()
      expect(one).to.include({ webhook_id: id, url: 'https://erp.example/ganchos' })
      // A success soon followed by a failure: the same outage.
      await health(id, `failing_since = null, last_success_at = now()`)
      await health(id, `failing_since = now() - interval '1 minute', recovering_since = now() - interval '11 minutes'`)
      expect(await kinds()).to.deep.equal(['webhook_failing'])
      expect(await failing()).to.have.length(1)
      await health(id, `failing_since = now() - interval '6 minutes'`)
      await health(id, `failing_since = null`)
      expect(await kinds(), 'well for a moment').to.deep.equal(['webhook_failing'])
      await health(id, `recovering_since = now() - interval '11 minutes'`)
      await noteOutages(pool())
      expect(await kinds()).to.deep.equal(['webhook_failing', 'webhook_well'])
      expect(await failing()).to.deep.equal([])
      await whileTelling(settled)
      const [began, over] = letters.map(readableOf)
      expect(began).to.include(`Subject: Webhook ${id} com falhas`).and.include('não aceita nenhuma entrega desde')
      expect(over).to.include(`Subject: Webhook ${id} normalizado`).and.include('voltou a aceitar entregas')
      for (const text of [began, over])
        expect(text).to.include(`https://loja.example/painel/integracoes/webhooks/${id}`)
    })

    it('are not sent for a disabled or paused endpoint, or for failures of a former URL [HOOK-74]', async () => {
      const id = await registered()
      await company.run(switchOffWebhook, { id, reason: 'requested' })
      await health(id, `failing_since = now() - interval '6 minutes'`)
      const changed = await registered()
      await health(changed, `failing_since = now() - interval '3 days'`)
      expect(await kinds()).to.deep.equal([])
      expect(await failing()).to.deep.equal([])
    })

    it('match its health, which is hidden from other companies [HOOK-71, HOOK-74]', async () => {
      const id = await registered()
      await health(id, `failing_since = now() - interval '6 minutes'`)
      await pool().query(
        `insert into webhook_hours (company_id, webhook_id, hour, bucket, attempts, failures)
         select $1, $2, date_trunc('hour', now()) - make_interval(hours => ago), 0, 10, fails
         from (values (0, 1), (30, 2), (200, 4)) as given(ago, fails)`,
        [company.id, id],
      )
      const { data } = (await company.get(`/webhooks/${id}/health`)).body
      expect(data).to.deep.include({ webhook_id: id })
      expect(data.outage_since).to.match(/-04:00$/)
      expect(data.last_24_hours).to.include({ attempts: 10, failures: 1, success_rate: '90.00', p95_ms: 5 })
      expect(data.last_7_days).to.include({ attempts: 20, failures: 3, success_rate: '85.00' })
      const other = await api.company()
      expect((await other.get(`/webhooks/${id}/health`)).status).to.equal(404)
    })
  })

  it('are sent by one of two processes [OPS-21]', async () => {
    await user(`ana-${company.id}@loja.example`, 'owner')
    const id = await switchedOff()
    for (let n = 0; n < 9; n++) {
      await company.run(enableWebhook, { id })
      await company.run(switchOffWebhook, { id, reason: 'no_response' })
    }
    await Promise.all([whileTelling(settled), whileTelling(settled)])
    expect(letters).to.have.length(10)
  })
})

const PUBLIC_URL = 'https://tillbook.example'

describe('e-mails about a shop', () => {
  it('show its logo, and its name on its colour, with the same text as without', () => {
    const shop = toShopBrand({ name: 'Café <b>&', logoUrl: '/pictures/1/logo/ab.webp', color: '#ffe000' }, PUBLIC_URL)
    const { text, html = '' } = invitationEmail(shop, `${PUBLIC_URL}/painel/convite?codigo=x&y`, 7)
    expect(text).to.include('Café <b>& convidou')
    expect(html).to.include(`src="${PUBLIC_URL}/pictures/1/logo/ab.webp"`)
    expect(html).to.include('color:#000000;background:#ffe000')
    expect(html).to.include('Café &lt;b&gt;&amp; convidou').and.not.include('<b>')
    expect(html).to.include(`<a href="${PUBLIC_URL}/painel/convite?codigo=x&amp;y">`)
  })

  it('are plain text for a shop without logo and colour, and load no logo of another site', () => {
    const shop = toShopBrand({ name: 'Café', logoUrl: 'https://loja.example/logo.png', color: null }, PUBLIC_URL)
    expect(invitationEmail(shop, PUBLIC_URL, 7).html).to.equal(undefined)
  })
})
