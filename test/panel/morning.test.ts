import { expect } from 'chai'
import { createMailer } from '#access/email.ts'
import { startMorningMails } from '#access/morning-mails.ts'
import { deactivateUser } from '#commands/user-commands.ts'
import { isBestWeekday, writeMorningEmail } from '#panel/pages/good-morning.tsx'
import { figuresIn } from '../figures/parse.ts'
import type { TestCompany } from '../support/api.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import { type PanelReply, type PanelUser, panelUser, problemsIn, textIn } from '../support/panel.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

const DRAWERS = '/painel/caixas/sessoes'
/** A Wednesday, seven in the morning in São Paulo; the shop sold on Tuesdays. */
const [TUESDAY, WEDNESDAY] = ['2026-03-17T20:00:00.000Z', '2026-03-18T10:00:00.000Z']

describe('panel: good morning', () => {
  const api = useApi({ settings: { SMTP_URL: 'smtp://127.0.0.1:9' } })
  let clock: DatabaseClock
  let company: TestCompany
  let user: PanelUser

  before(async () => {
    clock = await openDatabaseClock(ownerUrlOf(api.databaseUrl))
  })
  after(() => clock.close())
  beforeEach(async () => {
    await clock.moveTo(TUESDAY)
    company = await api.company()
    user = await panelUser(api, company)
  })

  const card = (html: string): string => /<section class="card"><[^>]*>Bom dia.*?<\/section>/s.exec(html)?.[0] ?? ''
  const sentences = async (who = user) =>
    [...card((await who.get('/painel')).html).matchAll(/<a href="([^"]+)">(.*?)<\/a>/gs)].map(
      ([, to = '', html = '']) => ({
        to: to.replaceAll('&amp;', '&'),
        text: textIn(html).replaceAll('\u00A0', ' ').trim(),
        figure: Object.values(figuresIn(html))[0],
      }),
    )
  const texts = async (who = user) => (await sentences(who)).map(({ text }) => text)
  /** Later the sessions of the day before have ended. */
  const nextMorning = async (...who: PanelUser[]) => {
    await clock.moveTo(WEDNESDAY)
    for (const each of [user, ...who]) await each.logIn()
  }
  const sell = async (amount: string, sold_at: string, more: object = {}) => {
    const payment_type_id = await company.paymentType('cash')
    const items = [{ description: 'Café', quantity: '1', unit_price: amount }]
    const reply = await company.post('/sales', { items, payments: [{ payment_type_id, amount }], sold_at, ...more })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const done = (reply: PanelReply): string => {
    expect(reply.status, problemsIn(reply.html).join()).to.equal(303)
    return String(reply.to).replace(/\?.*/, '')
  }
  const openDrawer = async (who: PanelUser) => done(await who.submit(`${DRAWERS}/abrir`, { amount: '100' }))

  it('says nothing where there is nothing to say [PANEL-1370]', async () => {
    await sell('10.00', '2026-03-16T15:00:00Z')
    await nextMorning()
    expect(card((await user.get('/painel')).html)).to.equal('')
  })

  it('tells yesterday’s takings as the list and the API do [PANEL-1370] [PANEL-1371]', async () => {
    await sell('1400.00', '2026-03-03T15:00:00Z')
    await sell('9000.00', '2026-03-16T15:00:00Z')
    await sell('48.73', '2026-03-17T03:00:00Z')
    await sell('1400.00', '2026-03-18T02:59:00Z')
    await company.post(`/sales/${(await sell('5.00', TUESDAY)).id}/cancel`, {})
    await nextMorning()
    await sell('7.00', '2026-03-18T03:00:00Z')
    const [told] = await sentences()
    expect(told?.text).to.equal('Ontem R$ 1.448,73, melhor terça do mês.')
    const list = figuresIn((await user.get(told?.to ?? '')).html)
    expect(list['total.vendido'] ?? list['total.liquido']).to.equal(told?.figure)
    const { body } = await company.get('/sales?sold_from=2026-03-17&sold_to=2026-03-17&status=completed')
    const sum = body.data.reduce(
      (cents: number, { total }: { total: string }) => cents + Math.round(Number(total) * 100),
      0,
    )
    expect(sum).to.equal(144_873)
    await sell('48.74', '2026-03-03T16:00:00Z')
    expect(await texts()).to.deep.equal(['Ontem R$ 1.448,73.'])
  })

  it('calls a weekday the best only above each earlier one of the month [PANEL-1371]', () => {
    const month = (...tuesdays: bigint[]) =>
      Array.from({ length: 7 * (tuesdays.length - 1) + 3 }, (_, day) =>
        day % 7 === 2 ? (tuesdays[(day - 2) / 7] ?? 0n) : 99n,
      )
    expect(isBestWeekday(month(5n, 6n))).to.equal(true)
    expect(isBestWeekday(month(5n, 0n, 6n))).to.equal(true)
    expect(isBestWeekday(month(6n, 6n))).to.equal(false)
    expect(isBestWeekday(month(7n, 1n, 6n))).to.equal(false)
    expect(isBestWeekday(month(6n))).to.equal(false)
    expect(isBestWeekday(month(0n, 6n))).to.equal(false)
    expect(isBestWeekday([])).to.equal(false)
  })

  it('tells what drawers lack until it is explained, and which stayed open [PANEL-1370]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const path = await openDrawer(user)
    done(await user.submit(`${path}/fechar`, { other: '87,50' }))
    const other = await openDrawer(user)
    done(await user.submit(`${other}/fechar`, { other: '106' }))
    const left = await openDrawer(clerk)
    await nextMorning(clerk)
    const told = await sentences()
    expect(told.map(({ to, text }) => [to, text])).to.deep.equal([
      [other, 'Sobraram R$ 6,00 na gaveta de Pessoa.'],
      [path, 'Faltaram R$ 12,50 na gaveta de Pessoa.'],
      [left, 'A gaveta de Pessoa ficou aberta.'],
    ])
    for (const { to, figure = 0 } of told.slice(0, 2)) {
      const { difference } = (await company.get(`/cash-sessions/${to.split('/').at(-1)}`)).body.data
      expect(Math.abs(Number(difference))).to.equal(figure)
      expect(Object.values(figuresIn((await user.get(to)).html)).map(Math.abs)).to.include(figure)
    }
    done(await user.submit(`${path}/explicar`, { reason: 'change' }))
    expect((await texts()).join(' ')).not.to.include('12,50')
  })

  it('tells a clerk of the own drawer alone [ROLE-105]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    await sell('48.73', TUESDAY)
    const path = await openDrawer(user)
    done(await user.submit(`${path}/fechar`, { other: '87,50' }))
    await openDrawer(user)
    await openDrawer(clerk)
    await nextMorning(clerk)
    expect(await texts(clerk)).to.deep.equal(['Sua gaveta ficou aberta.'])
    expect(await texts())
      .to.include('Ontem R$ 48,73.')
      .and.to.include('Sua gaveta ficou aberta.')
  })

  it('tells which products end today, and what acquirers pay [PANEL-1370] [PANEL-1371]', async () => {
    const item = async (name: string, stock: string) =>
      (await company.post('/catalog/items', { name, price: '9.99', stock })).body.data.id as number
    const [beans, rice] = [await item('Feijão', '40'), await item('Arroz', '400')]
    const { id: pix } = (
      await company.post('/sales/payment-types', {
        name: 'Pix',
        kind: 'pix',
        acquirer_rate: '0.99',
        settles_in_days: 1,
      })
    ).body.data
    const sold = async (catalog_item_id: number) => {
      const payments = [{ payment_type_id: pix, amount: '389.61' }]
      const reply = await company.post('/sales', { items: [{ catalog_item_id, quantity: '39' }], payments })
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.payments[0]
    }
    const paid = [await sold(beans), await sold(rice)]
    await nextMorning()
    const told = await sentences()
    const due = paid.reduce((sum, { net, acquirer_fee }) => sum + Math.round((net - acquirer_fee) * 100), 0)
    expect(told.slice(1).map(({ text }) => text)).to.deep.equal([
      'Feijão acaba hoje.',
      `Hoje caem R$ ${(due / 100).toFixed(2).replace('.', ',')} da maquininha.`,
    ])
    expect(textIn((await user.get(told[1]?.to ?? '')).html)).to.include('O estoque dura Menos de um dia')
    expect(figuresIn((await user.get(told[2]?.to ?? '')).html)).to.include({
      'operadoras/hoje.a-receber': due / 100,
      'operadoras.a-receber': due / 100,
    })
  })

  describe('by e-mail', () => {
    let mailbox: Mailbox
    const running: ReturnType<typeof startMorningMails>[] = []
    let release = () => {}

    before(async () => {
      mailbox = await openMailbox()
    })
    after(() => mailbox.close())
    afterEach(async () => {
      release()
      await Promise.all(running.splice(0).map((each) => each.stop()))
    })

    const choose = async (hour: string, who = user) => done(await who.submit('/painel/conta/bom-dia', { hour }))
    const row = async (id = user.id) =>
      (
        await api.core.pool.query('select * from ops.morning_mails where company_id = $1 and user_id = $2', [
          company.id,
          id,
        ])
      ).rows[0]
    const letters = (who = user) => mailbox.letters.filter(({ to }) => to.includes(who.email)).map(({ text }) => text)
    const run = (options: Partial<Parameters<typeof startMorningMails>[0]> = {}) => {
      const started = startMorningMails({
        pool: api.core.pool,
        mailer: createMailer(mailbox.url, 'Tillbook <avisos@tillbook.example>'),
        write: (subscriber) => writeMorningEmail(api.core.pool, subscriber, 'https://loja.example'),
        log: () => {},
        ...options,
      })
      running.push(started)
      return started
    }
    const sentOn = (day: string, who = user) => until(async () => String((await row(who.id)).sent_day).startsWith(day))

    it('comes once a day at the hour that the user chose, from two processes too [PANEL-1373]', async () => {
      await sell('48.73', TUESDAY)
      await choose('7')
      expect((await row()).next_at).to.match(/^2026-03-18[T ]10:00:00/)
      await clock.moveTo(WEDNESDAY)
      await user.logIn()
      const said = await sentences()
      const both = [run(), run()]
      await sentOn('2026-03-18')
      const [text = ''] = letters()
      const bytes = text.replace(/=([89A-F][0-9A-F])/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      const plain = Buffer.from(bytes, 'latin1').toString()
      expect(plain)
        .to.include(`Bom dia: Loja ${company.id}`)
        .and.include('às 7h')
        .and.include('https://loja.example/painel/conta/bom-dia')
      for (const { to, text } of said)
        expect(plain.replaceAll('\u00A0', ' ')).to.include(text).and.include(`https://loja.example${to}`)
      await choose('8')
      await sell('1.00', '2026-03-18T12:00:00Z')
      await clock.moveTo('2026-03-19T10:59:00Z')
      for (const each of both) each.now()
      await clock.moveTo('2026-03-19T11:00:00Z')
      for (const each of both) each.now()
      await sentOn('2026-03-19')
      expect(letters()).to.have.length(2)
    })

    it('is sent by another process after a crash, and again after a failure [PANEL-1373]', async () => {
      await sell('48.73', TUESDAY)
      await choose('7')
      await clock.moveTo(WEDNESDAY)
      const hanging = new Promise<null>((resolve) => {
        release = () => resolve(null)
      })
      let isTaken = false
      run({
        async write(subscriber) {
          isTaken = true
          await hanging
          return writeMorningEmail(api.core.pool, subscriber, 'https://loja.example')
        },
      })
      await until(() => isTaken)
      await clock.moveTo('2026-03-18T10:06:00Z')
      const errors: unknown[] = []
      const failing = { send: () => Promise.reject(new Error('away')), close: () => {} }
      run({ mailer: failing, log: (_message, error) => errors.push(error) })
      await until(() => errors.length === 1)
      await until(async () => (await row()).leased_until === null)
      await clock.moveTo('2026-03-18T10:10:00Z')
      run()
      await sentOn('2026-03-18')
      release()
      await Promise.all(running.splice(0).map((each) => each.stop()))
      expect(letters()).to.have.length(1)
    })

    it('shows what the user may see, and ends with the setting or the access [PANEL-1373]', async () => {
      const [clerk, ended, gone] = [
        await panelUser(api, company, 'clerk'),
        await panelUser(api, company),
        await panelUser(api, company),
      ]
      await sell('48.73', TUESDAY)
      await openDrawer(clerk)
      for (const each of [clerk, ended, gone, user]) await choose('7', each)
      await choose('', ended)
      await company.run(deactivateUser, { id: gone.id })
      await clock.moveTo(WEDNESDAY)
      run()
      await Promise.all([sentOn('2026-03-18'), sentOn('2026-03-18', clerk)])
      await until(async () => (await row(gone.id)).next_at.startsWith('2026-03-19'))
      expect([ended, gone].flatMap((each) => letters(each))).to.deep.equal([])
      expect(letters(clerk).join()).to.include('ficou aberta').and.not.include('48,73')
      expect((await row(ended.id)).hour).to.equal(null)
    })

    it('waits for the next day if its hour is long ago, or nothing is to be said [PANEL-1373]', async () => {
      await choose('7')
      await clock.moveTo('2026-03-18T16:30:00Z')
      run()
      await until(async () => (await row()).next_at.startsWith('2026-03-19'))
      expect((await row()).sent_day).to.equal(null)
      await clock.moveTo('2026-03-19T10:00:00Z')
      run()
      await sentOn('2026-03-19')
      expect(letters()).to.deep.equal([])
    })
  })
})
