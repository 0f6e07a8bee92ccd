import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { auditPack } from '#integrity/audit-pack.ts'
import { verifyExport } from '#integrity/ledger-export.ts'
import { beginPack } from '#panel/audit-pack-pages.tsx'
import { panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { until } from '../support/wait.ts'
import { filesIn } from '../support/zip.ts'

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

  it('ends with an error when the client disconnects [AUDIT-24, AUDIT-26]', async () => {
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
