import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { adjustRole } from '#commands/role-commands.ts'
import type { Permission } from '#domain/rights.ts'
import { auditPack } from '#integrity/audit-pack.ts'
import { checkTables } from '#integrity/table-checks.ts'
import { verifyExport } from '#integrity/verify.ts'
import { beginPack } from '#panel/audit-pack-pages.tsx'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { tamperBy } from '../support/tamper.ts'
import { until } from '../support/wait.ts'
import { filesIn } from '../support/zip.ts'

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
    const items = Array.from({ length: 60 }, (_, n) => ({ external_id: `c${n}`, name: `Cliente ${n}` }))
    expect((await company.post('/customers/batch', { items })).status).to.equal(200)
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
    expect(textIn(history.html)).to.include('o nome de Maria para Maria Souza')
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

const PATH = '/painel/auditoria/pacote'

describe('panel: audit pack', () => {
  const { api, company, user: owner } = usePanelUser()
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-pack-'))
    await company.post('/customers', { name: 'Maria Retida', phone: '11987654321' })
  })
  afterEach(() => rm(folder, { recursive: true }))

  const fetchPack = (who = owner, query = '', signal?: AbortSignal) =>
    fetch(`${api.url}${PATH}/baixar${query}`, { headers: { cookie: who.cookie() }, ...(signal && { signal }) })
  const pack = async (...asked: Parameters<typeof fetchPack>) => {
    const response = await fetchPack(...asked)
    expect(response.headers.get('content-type')).to.equal('application/zip')
    return filesIn(Buffer.from(await response.arrayBuffer()))
  }
  const head = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))

  it('contains all ledger events as hashed, an index in words, and instructions to verify both [AUDIT-20]', async () => {
    const files = await pack()
    const last = await head()
    expect([...files.keys()].slice(0, 3)).to.deep.equal(['LEIA-ME.txt', 'livro.jsonl', 'indice.csv'])
    await writeFile(join(folder, 'livro.jsonl'), files.get('livro.jsonl') ?? '')
    const verified = await verifyExport(join(folder, 'livro.jsonl'), () => ({}))
    expect(verified).to.include({ valid: true, from: 0, revision: last, stream: `company-${company.id}` })
    const rows = (files.get('indice.csv') ?? '').split('\r\n')
    expect(rows).to.have.length(last + 3)
    expect(rows[last + 1]).to.match(
      new RegExp(`^${last};.*;Cliente criado;Cliente 1?\\d+;API;Chave de API \\d+;${verified.hash}$`),
    )
    expect(files.get('LEIA-ME.txt')).to.include(verified.hash)
  })

  it('contains personal data only on request and with permission [AUDIT-23]', async () => {
    const [withheld, granted] = [
      await panelUser(api, company, 'auditor'),
      await panelUser(api, company, 'auditor', { access_until: '2099-12-31', personal_data: true }),
    ]
    const accountant = await panelUser(api, company, 'accountant')
    for (const who of [owner, withheld, granted, accountant]) {
      const all = [...(await pack(who)).values()].join('')
      expect(all).not.to.include('Maria').and.not.to.include('11987654321')
    }
    expect((await pack(granted, '?dados=abertos')).get('dados-abertos.jsonl')).to.include('"name":"Maria Retida"')
    for (const who of [withheld, accountant]) {
      expect((await fetchPack(who, '?dados=abertos')).status).to.equal(403)
      expect((await who.get(PATH)).html).not.to.include('dados=abertos')
    }
    expect(textIn((await accountant.get(PATH)).html)).not.to.include('Quem baixou')
    const clerk = await panelUser(api, company, 'clerk')
    expect([(await fetchPack(clerk)).status, (await clerk.get(PATH)).status]).to.deep.equal([403, 403])
  })

  it('shows owners and auditors its downloads, and those of data exports of persons [AUDIT-26]', async () => {
    const auditor = await panelUser(api, company, 'auditor', { access_until: '2099-12-31', personal_data: true })
    await pack(auditor)
    const [customer] = (await company.get('/customers')).body.data
    expect((await auditor.get(`/painel/dados-pessoais/customer/${customer.id}/json`)).status).to.equal(200)
    const shown = async () => textIn((await owner.get(PATH)).html)
    await until(async () =>
      /Dados de uma pessoa: Cliente \d+ Entregue .* Pacote de auditoria Entregue 100%/.test(await shown()),
    )
    expect(await shown()).to.include(`Pessoa`)
  })

  it('ends with an error when the client disconnects [OPS-60, AUDIT-26]', async () => {
    const source = { ...api.core }
    const wanted = await beginPack(api.core, company.id, {
      isOpened: true,
      now: '2026-11-22T00:00:00.000Z',
    })
    const gone = new AbortController()
    const stream = auditPack(source, wanted, () => {}, gone.signal)
    stream.once('data', () => gone.abort(new Error('gone')))
    const error = await new Promise<Error>((resolve) => stream.once('error', resolve))
    expect(error.message).to.equal('gone')
  })

  it('is covered by its own checkpoint, and passes the verifier [AUDIT-22]', async () => {
    const files = await pack()
    expect(files.get('LEIA-ME.txt')).to.include(`cobre todos os ${(await head()) + 1} eventos`)
    for (const [name, text] of files) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    const [, command = ''] = /\n {2}node (tillbook-verify.mjs .*)\n/.exec(files.get('LEIA-ME.txt') ?? '') ?? []
    const keys = (await (await fetch(`${api.url}/proof/keys`)).json()) as { data: { keys: { log_vkey: string }[] } }
    const vkey = JSON.stringify(keys).match(/"log_vkey":"([^"]+)"/)?.[1] ?? ''
    const { stdout } = await promisify(execFile)(process.execPath, command.replace('CHAVE', vkey).split(' '), {
      cwd: folder,
    })
    expect(stdout).to.match(new RegExp(`\\n(sound|undecided): \\d+ documents, ${(await head()) + 1} events\\n$`))
  })

  it('names the events beyond its newest checkpoint if no new one can be made [AUDIT-22]', async () => {
    await pack()
    await company.post('/customers', { name: 'Depois' })
    const proof = { checkpointOf: () => Promise.reject(new Error('not whole')) }
    const now = '2026-11-22T00:00:00.000Z'
    const { covered, head: end } = await beginPack({ ...api.core, proof }, company.id, { isOpened: false, now })
    expect([covered, end.revision]).to.deep.equal([await head(), await head()])
  })
})

describe('panel: erasure of a person', () => {
  const { company, user } = usePanelUser('owner')

  it('asks for confirmation, names records that still need the person, and can be queued [PRIV-1, PRIV-4]', async () => {
    const customer = (await company.post('/customers', { name: 'Eva Souza', phone: '11999990000' })).body.data
    const account = { description: 'Fiado de abril', amount: '1.00', due_date: '2026-12-01', customer_id: customer.id }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const path = `/painel/clientes/${customer.id}`
    expect(textIn((await user.get(path)).html)).to.include('Excluir dados pessoais')
    const asked = textIn((await user.get(`${path}/esquecer`)).html)
    for (const text of ['Esta ação não pode ser desfeita.', 'Serão apagados nome', 'Ficam as vendas'])
      expect(asked).to.include(text)
    const confirm = 'eva souza'
    const empty = await user.submit(`${path}/esquecer`, {})
    expect(problemsIn(empty.html)).to.include('Motivo: preencha este campo')
    const needed = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm })
    expect(needed.status).to.equal(409)
    expect(textIn(needed.html)).to.include(
      `Estes registros ainda precisam dos dados: Fiado de abril. Nada foi excluído.`,
    )
    const queued = await user.submit(`${path}/esquecer`, { ground: 'holder_request', queue: 'on', confirm })
    expect(queued.to).to.equal(`${path}?feito=esquecimento-marcado`)
    const waiting = textIn((await user.get(path)).html)
    expect(waiting).to.include('Eva Souza').and.to.include('(11) 99999-0000')
    expect(waiting).to.include('Exclusão do restante quando não houver mais conta ou pedido em aberto')
    expect(waiting).not.to.include('Editar cliente')
    await company.call('DELETE', `/finance/receivables/${receivable.id}`)
    const done = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm })
    expect(done.to).to.equal(`${path}?feito=esquecida`)
    for (const page of [path, '/painel/clientes']) {
      const shown = textIn((await user.get(page)).html)
      expect(shown, page).to.include('Titular anonimizado').and.not.to.include('Eva')
    }
    expect(textIn((await user.get(`${path}/esquecer`)).html)).to.include('Os dados pessoais já foram excluídos.')
  })

  it('shows the person in the title, and debts with links before the button', async () => {
    const person = { name: 'Eva Souza', document: '52998224725' }
    const { id } = (await company.post('/customers', person)).body.data
    const account = { description: 'Fiado de maio', amount: '12.50', due_date: '2026-12-01', customer_id: id }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const { html } = await user.get(`/painel/clientes/${id}/esquecer`)
    expect(html).to.match(/<h1[^>]*>Excluir dados pessoais de Eva Souza \(529\.982\.247-25\)</)
    const before = html.slice(0, html.indexOf('<form method="post" action="/painel/clientes'))
    expect(before).to.include(`href="/painel/contas-a-receber/${receivable.id}"`)
    expect(textIn(before))
      .to.include('Fiado de maio , em aberto')
      .and.to.include('R$ 12,50')
      .and.to.include('o restante é excluído quando não houver mais nada')
  })

  it('asks for the person’s name [PANEL-457]', async () => {
    const { id } = (await company.post('/customers', { name: 'Eva Souza' })).body.data
    const path = `/painel/clientes/${id}`
    const wrong = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm: 'Eva' })
    expect(problemsIn(wrong.html)).to.include('Confirme o nome da pessoa: não é o nome desta pessoa')
    expect((await company.get(`/customers/${id}`)).body.data).to.include({ name: 'Eva Souza', forgotten_at: null })
    const done = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm: 'EVA  souza' })
    expect(done.to).to.equal(`${path}?feito=esquecida`)
  })

  it('leaves erased persons last in the list, without a data export [PANEL-458]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    await company.post('/customers', { name: 'Zoé' })
    expect((await user.get(`/painel/clientes/${id}`)).html).to.include('Baixar dados')
    await user.submit(`/painel/clientes/${id}/esquecer`, { ground: 'holder_request', confirm: 'Ana' })
    expect(textIn((await user.get('/painel/clientes')).html)).to.match(/Zoé .*Titular anonimizado/)
    expect((await user.get(`/painel/clientes/${id}`)).html).not.to.include('Baixar dados')
  })
})
