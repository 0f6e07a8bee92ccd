import { expect } from 'chai'
import { adjustRole } from '#commands/user-commands.ts'
import type { Permission } from '#domain/rights.ts'
import { checkTables } from '#integrity/table-checks.ts'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { tamperBy } from '../support/tamper.ts'

describe('panel: audit', () => {
  const { api, company, user: owner } = usePanelUser()

  const shown = async (path: string) => {
    const { status, html } = await owner.get(path)
    expect(status, html).to.equal(200)
    return textIn(html)
  }
  const customer = async (name: string) => (await company.post('/customers', { name })).body.data.id as number
  const revision = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))

  it('lists the events newest first, with actor and channel', async () => {
    await customer('Maria')
    const text = await shown('/painel/auditoria')
    expect(text).to.match(/Cliente criado.*Usuário criado.*Empresa registrada/)
    expect(text).to.include('Chave chave').and.to.include('API').and.to.include('O sistema')
  })

  it('downloads a CSV file of actors, events and times without contents, also for an accountant', async () => {
    await customer('Maria')
    const accountant = await panelUser(api, company, 'accountant')
    for (const who of [owner, accountant]) {
      const { html } = await who.get('/painel/auditoria.csv?evento=CustomerCreated')
      const [heads, line, end] = html.split('\r\n')
      expect(heads).to.include('Evento nº;Quando;Atividade;Registro;Origem;Quem;Hash')
      expect(line).to.match(/^\d+;[^;]+;Cliente criado;Cliente \d+;API;Chave chave;[0-9a-f]{64}$/)
      expect(end).to.equal('')
    }
    expect((await owner.get('/painel/auditoria.csv')).html.split('\r\n')).to.have.lengthOf((await revision()) + 3)
    expect((await owner.get('/painel/auditoria.csv?de=2026-02-30')).status).to.equal(422)
  })

  it('pages backwards through all ledger events without gaps', async () => {
    for (let n = 0; n < 60; n++) await customer(`Cliente ${n}`)
    const seen: number[] = []
    let path: string | undefined = '/painel/auditoria'
    while (path) {
      const { html } = await owner.get(path)
      seen.push(...[...html.matchAll(/auditoria\/eventos\/(\d+)"/g)].map(([, n]) => Number(n)))
      path = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    const last = await revision()
    expect(seen).to.deep.equal(Array.from({ length: last + 1 }, (_, n) => last - n))
  })

  it('filters by event, kind of record, record, channel and day', async () => {
    const id = await customer('Maria')
    await company.call('PATCH', `/customers/${id}`, { notes: 'nova' })
    await company.post('/suppliers', { name: 'Bom Grão' })
    const count = async (query: string) =>
      [...(await owner.get(`/painel/auditoria?${query}`)).html.matchAll(/auditoria\/eventos\//g)].length
    expect(await count('evento=CustomerUpdated')).to.equal(1)
    expect(await count('tipo=customer')).to.equal(2)
    expect(await count(`tipo=customer&numero=${id}`)).to.equal(2)
    expect(await count('tipo=supplier')).to.equal(1)
    expect(await count('origem=api')).to.equal(3)
    expect(await count('de=2020-01-01&ate=2020-12-31')).to.equal(0)
    expect(await count('de=2020-01-01&tipo=supplier')).to.equal(1)
    expect(await count('ate=2020-01-01')).to.equal(0)
  })

  it('names invalid filters, and shows no events [PANEL-109]', async () => {
    for (const query of [
      'numero=7',
      'tipo=customer&numero=abc',
      'de=ontem',
      'de=2026-03-02&ate=2026-03-01',
      'evento=Nada',
      'tipo=nada',
    ]) {
      const { status, html } = await owner.get(`/painel/auditoria?${query}`)
      expect(status, query).to.equal(200)
      expect(problemsIn(html), query).not.to.deep.equal([])
      expect(html, query).not.to.include('auditoria/eventos/')
    }
  })

  it('filters by actor, and refuses an invalid one [PANEL-87]', async () => {
    await customer('Maria')
    await owner.submit('/painel/clientes/novo', { name: 'Bia', person_type: 'PF' }, '/painel/clientes')
    const count = async (query: string) =>
      [...(await owner.get(`/painel/auditoria?${query}`)).html.matchAll(/auditoria\/eventos\//g)].length
    expect(await count(`quem=user/${owner.id}`)).to.equal(1)
    expect(await count('quem=system&evento=CustomerCreated')).to.equal(0)
    expect(await count('evento=CustomerCreated')).to.equal(2)
    expect(problemsIn((await owner.get('/painel/auditoria?quem=root')).html)).not.to.deep.equal([])
  })

  it('shows each field before and after in words, also in linked histories [PANEL-86]', async () => {
    const id = await customer('Maria')
    await company.call('PATCH', `/customers/${id}`, { name: 'Maria Souza', phone: '11987654321' })
    const event = `/painel/auditoria/eventos/${await revision()}`
    expect(await shown(event)).to.match(/Campo Antes Depois Nome Maria Maria Souza .*Telefone — \(11\) 98765-4321/)
    expect((await owner.get(event)).html).to.include(`href="/painel/auditoria?tipo=customer&amp;numero=${id}"`)
    const history = await owner.get(`/painel/clientes/${id}`)
    expect(textIn(history.html)).to.include('Nome: Maria → Maria Souza')
    expect(history.html).to.include(`href="${event}"`).and.to.include(`auditoria?tipo=customer&amp;numero=${id}"`)
  })

  it('masks personal data for an auditor without the permission, in words and raw [PANEL-83]', async () => {
    const id = await customer('Maria')
    await company.call('PATCH', `/customers/${id}`, { name: 'Maria Souza', phone: '11987654321' })
    const auditor = await panelUser(api, company, 'auditor')
    for (const path of [
      `auditoria/eventos/${(await revision()) - 1}`,
      `clientes/${id}`,
      `auditoria/registros/customer/${id}`,
    ]) {
      const { html } = await auditor.get(`/painel/${path}`)
      expect(html, path).to.include('(retido)').and.not.to.include('Maria').and.not.to.include('98765')
    }
  })

  it('shows a role what it sees of records, and nothing else of their events [ROLE-1062] [ROLE-1063]', async () => {
    const permissions: Permission[] = ['see_audit', 'see_company']
    await company.run(adjustRole, { role: 'manager', permissions, return_limit: null, discount_limit: null })
    const manager = await panelUser(api, company, 'manager')
    const before = await revision()
    const made = async (path: string, body: object) => {
      const reply = await company.post(path, body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id as number
    }
    const item = await made('/catalog/items', { name: 'Café', price: '19.00', cost: '7.77', stock: '5' })
    const purchase = { catalog_item_id: item, kind: 'purchase', quantity: '2', unit_cost: '6.54' }
    await made('/stock/movements', purchase)
    const payable = await made('/finance/payables', {
      description: 'Aluguel',
      amount: '321.98',
      due_date: '2026-12-01',
    })
    const cash = await company.paymentType('cash')
    const sold = { description: 'Cesta', quantity: '1', unit_price: '13.57' }
    const sale = await made('/sales', { items: [sold], payments: [{ payment_type_id: cash, amount: '13.57' }] })
    const hidden = /7[.,]77|6[.,]54|321[.,]98|13[.,]57|Aluguel|Cesta/
    const paths = [
      ...Array.from({ length: (await revision()) - before }, (_, n) => `auditoria/eventos/${before + 1 + n}`),
      'auditoria',
      `catalogo/${item}`,
      'auditoria/pacote',
    ]
    for (const path of paths) {
      const { status, html } = await manager.get(`/painel/${path}`)
      expect(status, path).to.equal(200)
      expect(textIn(html), path).not.to.match(hidden)
      expect(html, path).not.to.match(hidden)
    }
    for (const revised of paths.slice(0, -3)) expect((await owner.get(`/painel/${revised}`)).status).to.equal(200)
    expect(textIn((await manager.get('/painel/auditoria')).html)).to.include('Retido')
    for (const path of [`registros/payable/${payable}`, `registros/sale/${sale}`])
      expect((await manager.get(`/painel/auditoria/${path}`)).status).to.equal(404)
    for (const path of ['auditoria/pacote/baixar', 'auditoria.csv', `dados-pessoais/user/${owner.id}/json`])
      expect((await manager.get(`/painel/${path}`)).status, path).to.equal(403)
    expect((await manager.get('/painel/auditoria/pacote')).html).not.to.include('/painel/auditoria/pacote/baixar')
  })

  it('shows an event as stored, with its hash, and the record before and after it', async () => {
    const id = await customer('Maria')
    await company.call('PATCH', `/customers/${id}`, { name: 'Maria Souza' })
    const last = await revision()
    const [, event] = (await company.get(`/customers/${id}/history`)).body.data
    const { html } = await owner.get(`/painel/auditoria/eventos/${last}`)
    expect(textIn(html)).to.include('Cliente alterado').and.to.include(event.hash).and.to.include(event.previous_hash)
    expect(await shown(`/painel/clientes/${id}?em=${last - 1}`)).not.to.include('Souza')
    expect(await shown(`/painel/clientes/${id}?em=${last}`)).to.include('Souza')
    for (const nothing of [last + 1, 'abc', -1]) {
      expect((await owner.get(`/painel/auditoria/eventos/${nothing}`)).status, String(nothing)).to.equal(404)
    }
  })

  it('verifies the ledger on demand, and detects altered events', async () => {
    const id = await customer('Maria')
    const verify = () => owner.submit('/painel/auditoria', {}, '/painel/auditoria/conferir')
    expect(textIn((await verify()).html))
      .to.include('Registro de auditoria íntegro')
      .and.to.include(`${await revision()} de`)
    await tamperBy(
      api.core.pool,
      `update ledger.events set envelope = replace(envelope::text, '"PF"', '"PJ"')::json where stream = $1 and subject = $2`,
      [`company-${company.id}`, `customer/${id}`],
    )
    const altered = textIn((await verify()).html)
    expect(altered)
      .to.include('O registro de auditoria foi alterado')
      .and.to.include('O conteúdo do evento foi alterado.')
  })

  it('lists for owners the records that differ from the ledger, without their values [OPS-47]', async () => {
    const id = await customer('Maria')
    await checkTables(api.core, company.id)
    expect(await shown('/painel/auditoria')).to.match(
      /Comparação diária dos cadastros com o registro de auditoria: a última, em .*, foi até o evento nº [\d.]+ de [\d.]+/,
    )
    await api.core.pool.query(
      `update read.customers set doc = replace(doc::text, 'Maria', 'Mario')::json where id = $1`,
      [id],
    )
    await checkTables(api.core, company.id)
    const [check] = (await shown('/painel/auditoria')).split('Número do registro')
    expect(check).to.include(`customers ${id} Alterado fora do sistema doc.name`).and.not.include('Mario')
    expect(await shown('/painel')).to.include('1 registro não confere na auditoria')
    const clerk = await panelUser(api, company, 'clerk')
    expect(textIn((await clerk.get('/painel')).html)).not.to.include('não conferem')
    const other = await panelUser(api, await api.company(), 'owner')
    for (const path of ['/painel', '/painel/auditoria'])
      expect(textIn((await other.get(path)).html), path).not.to.include('não conferem')
  })

  it('shows the newest checkpoint, its age, and the reason for a missing one', async () => {
    expect(await shown('/painel/auditoria')).to.include('ainda não tem selos')
    const { proof, pool } = api.core
    const made = await proof.checkpointOf(company.id, 1)
    const sealed = await shown('/painel/auditoria')
    expect(sealed).to.include('Último selo').and.include(`Eventos selados ${made?.size}`).and.include('ainda não')
    await pool.query(`insert into ops.checkpoint_faults values ($1, '2026-11-22T12:00:00Z', 'truncated')`, [company.id])
    expect(await shown('/painel/auditoria'))
      .to.include('sem selo novo')
      .and.include('Os registros mais recentes foram removidos')
    await pool.query('delete from ops.checkpoint_faults')
  })

  it('opens any record as of a date and time', async () => {
    const id = await customer('Maria')
    const ask = (query: string) => owner.get(`/painel/auditoria/como-era?${query}`)
    expect((await ask(`tipo=customer&numero=${id}&em=2026-11-20T10:00`)).to).to.equal(
      `/painel/clientes/${id}?em=2026-11-20T10%3A00`,
    )
    expect((await ask(`tipo=user&numero=${owner.id}&em=2026-11-20T10:00`)).to).to.match(/auditoria\/registros\/user/)
    expect((await ask('')).status).to.equal(200)
    expect((await ask('tipo=customer&numero=x&em=')).status).to.equal(422)
  })

  it('shows records without a page of their own, current and as of a revision', async () => {
    const path = `/painel/auditoria/registros/user/${owner.id}`
    expect(await shown(path)).to.include(owner.email)
    expect(await shown(`${path}?em=${await revision()}`))
      .to.include(owner.email)
      .and.to.include('Como era')
    expect((await owner.get(`${path}?em=0`)).status).to.equal(404)
    expect((await owner.get('/painel/auditoria/registros/nada/1')).status).to.equal(404)
    expect((await owner.get('/painel/auditoria/registros/user/999999')).status).to.equal(404)
  })

  it('refuses users who are not owners', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    for (const path of ['', '/eventos/0', '/como-era', `/registros/user/${owner.id}`])
      expect((await clerk.get(`/painel/auditoria${path}`)).status, path).to.equal(403)
    expect(textIn((await clerk.get('/painel/clientes')).html)).not.to.include('Auditoria')
  })

  it('shows nothing of another company', async () => {
    const other = await api.company()
    await other.post('/customers', { name: 'Mercadinho Alheio' })
    expect(await shown('/painel/auditoria')).not.to.include('Alheio')
    const { id } = (await other.post('/customers', { name: 'Outro' })).body.data
    expect((await owner.get(`/painel/auditoria/registros/customer/${id}`)).status).to.equal(404)
  })
})
