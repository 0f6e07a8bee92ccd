import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { formatPhone, formatTaxNumber, MASKED } from '#domain/person-values.ts'
import { type BaseRole, may, ROLE_PRESETS } from '#domain/rights.ts'
import { BEFORE } from '#panel/forms/panel-form.ts'
import { changesRecords, mayOpen, permissionsFor } from '#panel/page-context.ts'
import type { FormRoute, PageRoute, PanelRoute } from '#panel/panel-route.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { addressOf as newAddressOf } from '../browser/samples/all.ts'
import { SAMPLE_COST } from '../browser/samples/catalog.ts'
import { FOREIGN_IDS } from '../support/api.ts'
import { type TestPanel, usePanel } from '../support/browser.ts'
import { hiddenFields, type PanelReply, type PanelUser, panelUser, textIn } from '../support/panel.ts'

/** Owners, to see also auditors: keys, webhooks, users, settings, payment setup, the ledger, erasure of persons. */
const OWNERS_ONLY =
  /^\/(integracoes|configuracoes|auditoria|loja\/lojas|loja\/conectar|primeiros-passos)(\/|$)|\/esquecer$|^\/caixas\/aparelhos\/:id\/encerrar$/
/** Refunds and alarms of orders. */
const REFUNDS = /^\/loja\/pedidos\/:id\/(devolver|pedir-devolucao|alarme-visto|credito)$/
/** Audit overview: actors, events and times without contents. */
const BOOKS = /^\/auditoria(\.csv|\/pacote|\/conferir)?$/
/** Accounts payable and the goods that brought them, hidden from clerks. */
const PAYABLES = /^\/(contas-a-pagar|catalogo\/entradas)(\.csv|\/|$)|^\/fornecedores\/:id\/liquidar$/
/** What clerks neither download, import, cancel, delete nor price. */
const NOT_OF_CLERKS =
  /\.csv$|\/importar(\/|$)|^\/loja\/pedidos\/:id\/cancelar$|^\/contas-a-receber\/:id\/excluir$|^\/caixas\/aparelhos\/:id\/perdidas\/|^\/catalogo\/precos($|\/:id\/)/

/** Of all sales: returns, and why a drawer differs. */
const OF_ALL_SALES =
  /^\/devolucoes(\/|$)|^\/vales$|^\/fechamento-do-mes(\/|$)|^\/catalogo\/lista-de-compras(\.csv)?$|^\/clientes\/:id\/caderneta(\/|$)|^\/caixas\/(sessoes\/:id\/explicar|(devolucoes|movimentos)-recusad[ao]s)(\/|$)/

/** Pages of the sale, the refused sale, or the drawer of another user. */
const OF_OTHERS = /^\/vendas\/:id(\/|$)|^\/caixas\/(recusadas|sessoes)\/:id(\/|$)/

/** Cost of an item, as stored, displayed and in forms. */
const COST = new RegExp(SAMPLE_COST.replace('.', '[.,]'))

/** Forms that change only the own account, or nothing: open to auditors too. */
const FORMS_OF_AUDITORS = [
  '/conta/senha',
  '/conta/pin',
  '/conta/bom-dia',
  '/conta/encerrar-sessoes',
  ...['aplicativo', 'chave', 'codigos', 'remover'].map((page) => `/conta/verificacao/${page}`),
  '/empresas',
  '/auditoria/conferir',
  '/catalogo/lista-de-compras',
]

/** Pages whose only purpose is a change. */
const LEADS_TO_CHANGE =
  /\/(nov[oa]|editar|excluir|cancelar|cliente|esquecer|devolver|devolver\/quantidades|devolver\/forma|liquidar|estornar|reenviar|registrar|resolver|desfazer|corrigir|documento-fiscal|trocar-segredo|revogar|passar|empresa|teste|esvaziar|formas-de-pagamento\/:id|perfis\/:role|perfis\/:role\/remover|importar|importar\/conferir|conectar|nova-senha|remover-verificacao|aplicar|descartar|reativar|encerrar|recuperar|perdidas\/:from\/:to|desativar|sessoes\/abrir|suprimento|sangria|fechar|explicar|nfe|nfe\/conferir|cobrar|agentes|primeiros-passos|negocio|negocio\/:tipo|precos|pedidos\/:id\/credito|consulta\/imprimir)$/

/** Where the provider sends the browser: without its answer there is nothing to show. */
const CALLBACK = '/loja/conectar'

/** A decimal point, as in `4797.000`, `0.924` or `5.00`; points of thousands are followed by three digits. */
const ENGLISH_NUMBER = /(?<![\d.])(\d+\.\d{1,2}|\d{4,}\.\d{3}|0\.\d+)(?![\d.])/

/** Text of a page without stored forms and addresses. */
const shownText = (html: string): string => textIn(html.replace(/<(pre|code|script|style)\b[\s\S]*?<\/\1>/g, ''))

/** Numbered per company: each ledger has an event 0. */
const NUMBERED_BY_COMPANY = '/auditoria/eventos/:revision'

/** Months are those of every company. */
const OF_MONTHS = /^\/fechamento-do-mes\//

const isPage = (route: PanelRoute): route is PageRoute => 'show' in route
const PAGES = PANEL_ROUTES.filter(isPage)
const FORMS = PANEL_ROUTES.filter((route): route is FormRoute => 'submit' in route)
const FILES = PANEL_ROUTES.filter((route) => 'table' in route)
/** Roles and types of business are those of every company. */
const OF_ANY = ['/configuracoes/perfis/:role', '/configuracoes/perfis/:role/remover', '/primeiros-passos/negocio/:tipo']
const aboutRecords = ({ path }: PanelRoute) =>
  path.includes(':') && !OF_MONTHS.test(path) && path !== NUMBERED_BY_COMPANY && !OF_ANY.includes(path)

/** Addresses of the run: a test that changes nothing uses the records of an earlier one. */
const addresses = new Map<string, Promise<string>>()

function addressOf(panel: TestPanel, route: string): Promise<string> {
  const known = addresses.get(route) ?? newAddressOf(panel, route)
  addresses.set(route, known)
  return known
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** The same address with ids that do not exist. */
const ofNobody = (address: string): string =>
  address.replace(UUID, '01a00000-0000-7000-8000-000000000000').replace(/\/\d+(?=\/|$)/g, '/999999999')

/** Response without the parts that differ in every response. */
const told = ({ status, html }: PanelReply) => ({
  status,
  html: html.replace(UUID, '').replace(/name="_csrf" value="[^"]*"/g, ''),
})

const PERSONAL_TEXTS = `select distinct v as text from (
  select unnest(array[doc->>'name', doc->>'document', doc->>'phone', doc->>'email', doc->>'notes', doc->'address'->>'street']) as v from customers where company_id = $1
  union all select unnest(array[doc->>'name', doc->>'trade_name', doc->>'document', doc->>'phone', doc->>'email']) from suppliers where company_id = $1
  union all select unnest(array[doc->>'name', doc->>'email']) from users where company_id = $1 and id <> $2
  union all select unnest(array[doc->'customer'->>'name', doc->'customer'->>'email', doc->'customer'->>'document']) from orders where company_id = $1
) texts where v is not null`

describe('panel: every route', function () {
  // Each route has records of its own.
  this.timeout(60_000)
  const panel = usePanel()
  let owner: PanelUser
  let manager: PanelUser
  let clerk: PanelUser
  let accountant: PanelUser
  let auditor: PanelUser
  let stranger: PanelUser

  before(async () => {
    owner = await panelUser(panel.api, panel.company)
    manager = await panelUser(panel.api, panel.company, 'manager')
    clerk = await panelUser(panel.api, panel.company, 'clerk')
    accountant = await panelUser(panel.api, panel.company, 'accountant')
    auditor = await panelUser(panel.api, panel.company, 'auditor')
    stranger = await panelUser(panel.api, await panel.api.company({ idsFrom: FOREIGN_IDS }))
  })

  /** Hidden fields of every form of the session. */
  async function signed(user: PanelUser): Promise<{ _csrf: string; _key: string }> {
    const { _csrf = '' } = hiddenFields((await user.get('/painel/conta')).html, '/painel/sair')
    return { _csrf, _key: uuidv7() }
  }

  /** Current revision of every ledger. */
  async function revisions(): Promise<unknown> {
    const { rows } = await panel.api.core.pool.query('select company_id, revision from ops.ledgers order by company_id')
    return rows
  }

  it('is open to the roles that its path says [PANEL-1]', () => {
    for (const route of PANEL_ROUTES) {
      const { path } = route
      const isOwners = OWNERS_ONLY.test(path) && !BOOKS.test(path)
      expect(mayOpen(ROLE_PRESETS.owner, route), path).to.equal(true)
      expect(mayOpen(ROLE_PRESETS.manager, route), path).to.equal(!isOwners)
      const isClerks = ![OWNERS_ONLY, BOOKS, PAYABLES, REFUNDS, NOT_OF_CLERKS, OF_ALL_SALES].some((paths) =>
        paths.test(path),
      )
      expect(mayOpen(ROLE_PRESETS.clerk, route), path).to.equal(isClerks)
    }
  })

  it('names its permissions if it changes records [ROLE-101]', () => {
    for (const route of PANEL_ROUTES.filter(changesRecords))
      expect(permissionsFor(route), `${'submit' in route ? 'POST' : 'GET'} ${route.path}`).not.to.deep.equal([])
  })

  /** What a page answers to a role, if the owner gets `status`. */
  function statusFor(role: BaseRole, route: PanelRoute, status: number): number {
    if (!mayOpen(ROLE_PRESETS[role], route)) return 403
    return OF_OTHERS.test(route.path) && !may(ROLE_PRESETS[role], 'see_all_sales') ? 404 : status
  }

  for (const route of FORMS.filter(changesRecords))
    it(`refuses roles as the table of permissions says, without changes: POST ${route.path} [ROLE-101]`, async () => {
      const address = await addressOf(panel, route.path)
      const before = await revisions()
      const roles = Object.entries({ manager, clerk, accountant }) as [BaseRole, PanelUser][]
      for (const [role, user] of roles.filter(([role]) => !mayOpen(ROLE_PRESETS[role], route)))
        expect((await user.post(address, await signed(user))).status, role).to.equal(403)
      expect(await revisions()).to.deep.equal(before)
    })

  for (const route of PAGES)
    it(`answers roles as the table says: GET ${route.path} [PANEL-621] [PANEL-372] [ROLE-100] [ROLE-101]`, async () => {
      const { path } = route
      const address = await addressOf(panel, path)
      const { status: shown, html } = await owner.get(address)
      expect(shown).to.equal(path === CALLBACK ? 409 : 200)
      expect(Buffer.byteLength(html), 'bytes of the page').to.be.below(60_000)
      expect(html).not.to.match(/<option value=""[^>]*><\/option>/)
      expect(ENGLISH_NUMBER.exec(shownText(html))?.[0] ?? null, 'English number').to.equal(null)
      const toClerk = await clerk.get(address)
      expect(toClerk.status).to.equal(statusFor('clerk', route, shown))
      for (const [role, user] of Object.entries({ manager, accountant }) as [BaseRole, PanelUser][])
        expect((await user.get(address)).status, role).to.equal(statusFor(role, route, shown))
      expect(toClerk.html).not.to.match(COST)
      const { status, to } = await fetchAsNobody(address)
      expect([status, to?.split('?')[0]]).to.deep.equal([303, '/painel/entrar'])
    })

  it('offers each list as CSV, masked for auditors [PANEL-83] [PANEL-143]', async () => {
    const known = await personalTexts()
    // Files of imports are of the user's own upload.
    for (const { path, asOf } of FILES.filter((route) => !changesRecords(route))) {
      expect((await owner.get(`/painel${path}`)).headers.get('content-type'), path).to.match(/^text\/csv/)
      for (const query of asOf ? ['', `?em=${await head()}`] : ['']) {
        const { status, html } = await auditor.get(`/painel${path}${query}`)
        expect(status, path + query).to.equal(200)
        expect(
          known.filter((text) => html.includes(text)),
          path + query,
        ).to.deep.equal([])
      }
    }
  })

  it('gives accountants read access to business pages only [PANEL-202]', async () => {
    for (const route of PANEL_ROUTES) {
      const isOwners = permissionsFor(route).includes('see_company')
      expect(mayOpen(ROLE_PRESETS.accountant, route), route.path).to.equal(!changesRecords(route) && !isOwners)
    }
    const statuses = async (path: string) => (await accountant.get(`/painel${path}`)).status
    expect([
      await statuses('/contas-a-pagar'),
      await statuses('/auditoria'),
      await statuses('/auditoria/eventos/0'),
      await statuses('/auditoria/como-era'),
      await statuses('/configuracoes'),
    ]).to.deep.equal([200, 200, 403, 403, 403])
    expect((await accountant.get('/painel/auditoria')).html).not.to.match(
      /href="[^"]*(eventos|configuracoes|integracoes)/,
    )
    const item = await addressOf(panel, '/catalogo/:id')
    expect((await accountant.post(`${item}/excluir`, await signed(accountant))).status).to.equal(403)
  })

  it('shows costs and payables to accountants, not to clerks [PANEL-201] [PANEL-202]', async () => {
    const item = await addressOf(panel, '/catalogo/:id')
    const supplier = await addressOf(panel, '/fornecedores/:id')
    const past = `?em=${await head()}`
    for (const path of ['/painel/catalogo.csv', `/painel/catalogo.csv${past}`]) {
      expect((await accountant.get(path)).html, path).to.match(COST)
      expect((await clerk.get(path)).status).to.equal(403)
    }
    for (const path of [item, item + past]) {
      expect((await accountant.get(path)).html, path).to.match(COST)
      const { status, html } = await clerk.get(path)
      expect([status, COST.test(html), html.includes('Custo')], path).to.deep.equal([200, false, false])
    }
    expect((await clerk.get('/painel/catalogo/novo')).html).not.to.include('Custo')
    for (const [user, isTold] of [
      [clerk, false],
      [accountant, true],
    ] as const) {
      const { html } = await user.get('/painel')
      expect([html.includes('A pagar'), html.includes('Margem')]).to.deep.equal([isTold, isTold])
      expect((await user.get('/painel/contas-a-pagar.csv')).status).to.equal(isTold ? 200 : 403)
      expect((await user.get(supplier)).html.includes('A pagar')).to.equal(isTold)
    }
  })

  it('keeps the cost of an item when a clerk edits it, even if the form contains one [PANEL-201]', async () => {
    const item = await newAddressOf(panel, '/catalogo/:id')
    const form = hiddenFields((await clerk.get(`${item}/editar`)).html, `${item}/editar`)
    const typed = { ...JSON.parse(form[BEFORE] ?? ''), name: 'Outro nome', cost: '1,00' }
    expect((await clerk.post(`${item}/editar`, { ...form, ...typed })).status).to.equal(303)
    const { html } = await accountant.get(item)
    expect(html).to.match(COST).and.include('Outro nome')
  })

  it('can be read by auditors unless it changes something [PANEL-81]', () => {
    for (const route of FORMS)
      expect(changesRecords(route), `POST ${route.path}`).to.equal(!FORMS_OF_AUDITORS.includes(route.path))
    for (const route of PAGES)
      expect(changesRecords(route), `GET ${route.path}`).to.equal(LEADS_TO_CHANGE.test(route.path))
  })

  for (const route of PAGES)
    it(`hides personal data from auditors: GET ${route.path} [PANEL-81] [PANEL-83]`, async () => {
      const address = await addressOf(panel, route.path)
      const { status, html } = await auditor.get(address)
      expect(status).to.equal(changesRecords(route) ? 403 : 200)
      for (const action of actionsIn(html)) expect(FORMS_OF_AUDITORS, action).to.include(action)
      const pages = [html, ...(route.asOf ? [(await auditor.get(`${address}?em=${await head()}`)).html] : [])]
      const known = await personalTexts()
      for (const page of pages) {
        const said = page.replaceAll(auditor.email, '').replaceAll(await ownName(auditor), '')
        expect(known.filter((text) => said.includes(text))).to.deep.equal([])
      }
    })

  it('shows personal data to an auditor with the permission [PANEL-83]', async () => {
    const granted = await panelUser(panel.api, panel.company, 'auditor', {
      access_until: '2099-12-31',
      personal_data: true,
    })
    const address = await addressOf(panel, '/clientes/:id')
    expect((await granted.get(address)).html).to.equal((await granted.get(address)).html.replaceAll(MASKED, ''))
    expect((await auditor.get(address)).html).to.include(MASKED)
    const file = address.replace('/clientes/', '/dados-pessoais/customer/')
    expect([(await granted.get(`${file}/json`)).status, (await auditor.get(`${file}/json`)).status]).to.deep.equal([
      200, 403,
    ])
  })

  it('does not find a masked name by search [PANEL-83]', async () => {
    const { rows } = await panel.api.core.pool.query(
      `select doc->>'name' as name from customers where company_id = $1 and doc->>'name' <> '' and deleted_at is null limit 1`,
      [panel.company.id],
    )
    const address = `/painel/clientes?q=${encodeURIComponent(rows[0].name)}`
    expect((await owner.get(address)).html).not.to.include('Nenhum cliente encontrado')
    expect((await auditor.get(address)).html).to.include('Nenhum cliente encontrado')
  })

  for (const route of FORMS.filter(changesRecords))
    it(`refuses auditors, without changes: POST ${route.path} [PANEL-81]`, async () => {
      const address = await addressOf(panel, route.path)
      const before = await revisions()
      expect((await auditor.post(address, await signed(auditor))).status).to.equal(403)
      expect(await revisions()).to.deep.equal(before)
    })

  for (const { path, asOf } of PAGES.filter(aboutRecords))
    it(`responds 404 for records of another company: GET ${path} [HTTP-9]`, async () => {
      const address = await addressOf(panel, path)
      for (const query of asOf ? ['', '?em=0'] : ['']) {
        const answer = told(await stranger.get(address + query))
        expect(answer.status).to.equal(404)
        expect(answer).to.deep.equal(told(await stranger.get(ofNobody(address) + query)))
      }
    })

  for (const { path } of FORMS)
    it(`refuses a form token of another session, without changes: POST ${path} [PANEL-7]`, async () => {
      const address = await addressOf(panel, path)
      const [own, foreign] = [await signed(owner), await signed(stranger)]
      const before = await revisions()
      for (const _csrf of ['', 'x', `${own._csrf}x`, foreign._csrf])
        expect((await owner.post(address, { ...own, _csrf })).status, _csrf).to.equal(403)
      expect((await owner.post(address, { _key: own._key })).status).to.equal(403)
      for (const site of ['cross-site', 'same-site'])
        expect((await owner.post(address, own, { 'sec-fetch-site': site })).status, site).to.equal(403)
      expect((await owner.post(address, { _csrf: own._csrf })).status, 'no key').to.equal(422)
      expect(await revisions()).to.deep.equal(before)
    })

  for (const { path } of FORMS.filter(aboutRecords))
    it(`refuses records of another company, without changes: POST ${path} [HTTP-9]`, async () => {
      const address = await addressOf(panel, path)
      const before = await revisions()
      const answer = told(await stranger.post(address, await signed(stranger)))
      expect(answer.status).to.equal(404)
      expect(answer).to.deep.equal(told(await stranger.post(ofNobody(address), await signed(stranger))))
      expect(await revisions()).to.deep.equal(before)
    })

  const head = async (): Promise<number> =>
    (await panel.api.core.pool.query('select revision from ops.ledgers where company_id = $1', [panel.company.id]))
      .rows[0].revision

  /** Form targets of a page, relative to /painel. */
  const actionsIn = (html: string): string[] =>
    [...html.matchAll(/<form method="post" action="\/painel([^"?]*)/g)]
      .map(([, path = '']) => path)
      .filter((path) => path !== '/sair')

  const ownName = async ({ id }: PanelUser): Promise<string> =>
    (
      await panel.api.core.pool.query(`select doc->>'name' as name from users where company_id = $1 and id = $2`, [
        panel.company.id,
        id,
      ])
    ).rows[0].name

  /** All personal data in records of the company, as stored and as formatted in pages. */
  async function personalTexts(): Promise<string[]> {
    const { rows } = await panel.api.core.pool.query(PERSONAL_TEXTS, [panel.company.id, auditor.id])
    return rows
      .flatMap(({ text }: { text: string }) => [text, formatTaxNumber(text), formatPhone(text)])
      .filter((text) => text.length > 3)
  }

  async function fetchAsNobody(address: string) {
    const { status, headers } = await fetch(panel.api.url + address, { redirect: 'manual' })
    return { status, to: headers.get('location') }
  }

  for (const order of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'nenhuma'])
    it(`lists records without a server error for the unknown sort order ${order} [PANEL-324]`, async () => {
      for (const route of [...PAGES, ...FILES].filter(({ path }) => !path.includes(':'))) {
        const address = await addressOf(panel, route.path)
        const { status } = await owner.get(`${address}?ordem=${order}&${order}=1&linhas=${order}`)
        expect(status, address).to.be.below(500)
      }
    })
})
