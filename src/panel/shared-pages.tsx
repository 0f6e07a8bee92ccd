import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { type OpenedLink, SHARED } from '#access/shared-links.ts'
import { dateInZone } from '#domain/instant.ts'
import { formatDateTime } from '#domain/person-values.ts'
import { mayUnmasked, toRolePermissions } from '#domain/rights.ts'
import {
  type HttpRoute,
  limitUnauthenticatedBy,
  mountRoutes,
  problemHandler,
  rateLimitProblem,
  requireHttps,
} from '#http/edge.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { makeEventReceipt, makeSaleReceipt, type Receipt } from '#integrity/sale-receipts.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { CustomerObject } from '#projections/people.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getRow } from '#queries/event-queries.ts'
import { loadMonth } from '#queries/finance-summary.ts'
import { getCustomer } from '#queries/person-queries.ts'
import { presentSource, Reader } from '#queries/reader.ts'
import { getSale } from '#queries/sale-queries.ts'
import { sharedDocument } from './layout.tsx'
import { loadMonthStock, type MonthSource, monthTurns, sendMonthFile } from './month-file.ts'
import { ShopHead, toLogoOrigin } from './pages/company-pages.tsx'
import { MonthRows } from './pages/month-pages.tsx'
import { formatMonth, type HrefOf, type MonthList, MonthReport } from './pages/month-report.tsx'
import { CheckLink, ReceiptPaper, toCheckAddress, toCheckPage } from './pages/purchase-pages.tsx'
import { type CustomerStatement, loadCustomerStatement, StatementCards } from './pages/statement-pages.tsx'
import { answerPanelFailure } from './panel-answer.tsx'
import { allowImages, pagePolicy } from './panel-cookies.ts'
import type { PanelPage, PanelServices } from './panel-route.ts'

/** What the page of a link reads: names of persons are masked. */
export interface SharedVisit {
  readonly context: PanelServices
  readonly reader: Reader
  readonly company: CompanyObject
  readonly link: OpenedLink
  readonly token: string
}

/** Programs that draw a preview of a link in a chat: no person has opened it. */
const PREVIEW = /whatsapp|facebookexternalhit|telegrambot|bot\b|preview/i

/** Pages that a link opens without a login (LINK-1280 …). */
export function sharedPages(context: PanelServices): Router {
  const { limits } = context
  const desk = { ...context, files: monthTurns() }
  const router = express.Router({ caseSensitive: true, strict: true })
  const limitAddress: RequestHandler = async (request, _response, next) => {
    const counted = await limits.checkouts.consume(request.ip ?? '')
    next(counted.limited ? rateLimitProblem(counted) : undefined)
  }
  router.use(pagePolicy, requireHttps(limitUnauthenticatedBy(limits.checkouts)), hideAddress, limitAddress)
  const routes: HttpRoute[] = [
    { method: 'get', path: '/:token', handlers: [(request, response) => show(context, request, response)] },
    { method: 'get', path: '/:token/prova/:id', handlers: [(request, response) => prove(context, request, response)] },
    { method: 'get', path: '/:token/:lista', handlers: [(request, response) => showList(desk, request, response)] },
  ]
  mountRoutes(router, SHARED, routes)
  router.use((_request, _response, next) => next(new Problem('not_found')))
  // The request path is a credential and must not be logged.
  router.use(
    problemHandler((_, error, fields) => context.log('links: request failed', error, fields), answerPanelFailure),
  )
  return router
}

/** The address grants access: no search engine lists it, no other site learns it. */
const hideAddress: RequestHandler = (_request, response, next) => {
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('X-Robots-Tag', 'noindex, nofollow')
  next()
}

/** A month shows what its maker may still see. */
const isHeld = ({ record, makerRole, roles }: OpenedLink): boolean =>
  monthIn(record) === null || (makerRole !== null && mayUnmasked(toRolePermissions(makerRole, roles)))

/** `2026-11` of `month/2026-11`. */
const monthIn = (record: string): string | null => /^month\/(\d{4}-\d{2})$/.exec(record)?.[1] ?? null

/** @throws Problem: the same 404 for everything that is wrong with it */
async function visitOf(context: PanelServices, request: Request, isCounted: boolean): Promise<SharedVisit> {
  const token = String(request.params.token)
  const link = await context.access.sharedLinks.open(token, isCounted)
  const visit = link && isHeld(link) ? await openVisit(context, link, token) : null
  if (!visit) throw new Problem('not_found')
  return visit
}

async function show(context: PanelServices, request: Request, response: Response): Promise<void> {
  const isCounted = request.method === 'GET' && !PREVIEW.test(request.get('user-agent') ?? '')
  const visit = await visitOf(context, request, isCounted)
  const page = await pageOf(visit)
  if (!page) throw new Problem('not_found')
  if (page.imageOrigin) allowImages(response, page.imageOrigin)
  response.type('html').send(sharedDocument(page, visit.company.brand_color))
}

/** Leads to the page that verifies an event of the customer's statement, which the fragment holds. */
async function prove(context: PanelServices, request: Request, response: Response): Promise<void> {
  const visit = await visitOf(context, request, false)
  const id = pathId(String(request.params.id))
  const receipt = id === null ? null : await proofOf(visit, id)
  if (!receipt) throw new Problem('not_found')
  response.redirect(303, toCheckAddress(toCheckPage(context, visit.link.companyId), receipt))
}

/** Of a line of the customer's statement, by its event, or of a sale of the month. */
async function proofOf(visit: SharedVisit, number: number): Promise<Receipt | null> {
  const { context, reader, link } = visit
  const making = { ...context.proofs, store: context.reads.store, reader }
  const ofSale = async (id: number) => (await makeSaleReceipt(making, id))?.receipt ?? null
  if (monthIn(link.record) !== null) return (await isSoldIn(visit, number)) ? ofSale(number) : null
  const { type, id } = parseSubject(link.record)
  const statement = type === 'customer' ? await loadNotebook(visit, id) : null
  const line = statement?.lines.find(({ revision }) => revision === number)
  if (!line) return null
  return line.sale_id === null ? makeEventReceipt(making, line.revision) : ofSale(line.sale_id)
}

async function isSoldIn({ reader, link }: SharedVisit, saleId: number): Promise<boolean> {
  const { record } = await getSale(reader, saleId)
  if (!record) return false
  const { sold_at } = JSON.parse(record) as SaleObject
  return dateInZone(new Date(sold_at).toISOString(), link.timezone).startsWith(monthIn(link.record) ?? '-')
}

async function openVisit(context: PanelServices, link: OpenedLink, token: string): Promise<SharedVisit | null> {
  const { companyId } = link
  // A month has the figures of its page: costs and accounts to pay among them.
  const hidden = monthIn(link.record) === null
  const sight = { hidesPersons: true, hidesCosts: hidden, hidesPayables: hidden, ownSales: null }
  const reader = new Reader(companyId, presentSource(context.reads.poolOf(companyId)), sight)
  const company = (await getRow(reader, 'company', companyId)) as CompanyObject | null
  return company && { context, reader, company, link, token }
}

function pageOf(visit: SharedVisit): Promise<PanelPage | null> {
  const { type, id } = parseSubject(visit.link.record)
  if (type === 'month') return monthPage(visit)
  if (type === 'sale') return receiptPage(visit, id)
  return type === 'customer' ? notebookPage(visit, id) : Promise.resolve(null)
}

const closedMonth = ({ reader, link }: SharedVisit) => loadMonth(reader, monthIn(link.record) ?? '', link)

const hrefOf =
  ({ token }: SharedVisit): HrefOf =>
  (list, parameters = {}) =>
    SHARED_LISTS.has(list) ? `${SHARED}/${token}/${list}?${new URLSearchParams(parameters)}` : null

/** Lists of a month that the link opens too. */
const SHARED_LISTS: ReadonlySet<string> = new Set<MonthList>([
  ...(['vendas', 'devolucoes', 'recebimentos', 'pagamentos', 'a-receber', 'a-pagar', 'gavetas'] as const),
])

/** A month for the accountant, without names of persons. */
async function monthPage(visit: SharedVisit): Promise<PanelPage | null> {
  const { company, link, token, reader, context } = visit
  const { timezone } = link
  const month = await closedMonth(visit)
  if (!month) return null
  const stock = await loadMonthStock(context.reads, { reader, month, timezone })
  return {
    title: `Fechamento de ${formatMonth(month.month)} · ${company.name}`,
    imageOrigin: toLogoOrigin(company),
    body: (
      <>
        {company.logo_url && (
          <p class="brand">
            <img src={company.logo_url} alt="" class="logo" referrerpolicy="no-referrer" />
          </p>
        )}
        <p class="share">
          <a class="button" href={`${SHARED}/${token}/arquivo`}>
            Arquivos (ZIP)
          </a>
        </p>
        <MonthReport {...{ month, stock, timezone }} hrefOf={hrefOf(visit)} now={new Date().toISOString()} />
        <p class="hint">Este link vale até {formatDateTime(link.expiresAt, timezone)}.</p>
      </>
    ),
  }
}

interface LinkDesk extends PanelServices {
  readonly files: KeyedSemaphore
}

async function showList(desk: LinkDesk, request: Request, response: Response): Promise<void> {
  const visit = await visitOf(desk, request, false)
  const month = await closedMonth(visit)
  const list = String(request.params.lista)
  if (!month) throw new Problem('not_found')
  const { reader, link } = visit
  if (list === 'arquivo') {
    return sendFiles(desk, { reader, month, timezone: link.timezone }, response)
  }
  const rows = SHARED_LISTS.has(list) ? await MonthRows({ ...visit, month, list, query: queryOf(request) }) : null
  if (rows === null) throw new Problem('not_found')
  const body = (
    <>
      <p>
        <a href={`${SHARED}/${visit.token}`}>Voltar ao fechamento</a>
      </p>
      {rows}
    </>
  )
  const title = `${LIST_TITLES[list]} em ${formatMonth(month.month)}`
  response.type('html').send(sharedDocument({ title, body }, visit.company.brand_color))
}

async function sendFiles(desk: LinkDesk, source: MonthSource, response: Response): Promise<void> {
  const stock = await loadMonthStock(desk.reads, source)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const send = async () => {
    try {
      await sendMonthFile(source, stock, new Date().toISOString(), response)
    } catch (error) {
      if (!response.closed) desk.log('links: month download failed', error, { request_id: response.locals.requestId })
      response.destroy()
    }
  }
  await desk.files.run(source.reader.companyId, send, gone.signal)
}

const LIST_TITLES: Readonly<Record<string, string>> = {
  vendas: 'Vendas',
  devolucoes: 'Devoluções',
  recebimentos: 'Contas recebidas',
  pagamentos: 'Contas pagas',
  'a-receber': 'A receber que vence',
  'a-pagar': 'A pagar que vence',
  gavetas: 'Gavetas',
}

const queryOf = ({ originalUrl }: Request) =>
  Object.fromEntries(new URLSearchParams(originalUrl.split('?').slice(1).join('?')))

/** A receipt for the customer, without names of persons. */
async function receiptPage({ context, reader, company, link }: SharedVisit, id: number): Promise<PanelPage | null> {
  const { record } = await getSale(reader, id)
  const made = record && (await makeSaleReceipt({ ...context.proofs, store: context.reads.store, reader }, id))
  if (!record || !made) return null
  const sale = JSON.parse(record) as SaleObject
  return {
    title: `Recibo · ${company.name}`,
    imageOrigin: toLogoOrigin(company),
    body: await ReceiptPaper({
      ...{ company, reader, timezone: company.timezone, code: null },
      sale: { ...sale, customer: null, seller: null },
      children: <CheckLink page={toCheckPage(context, link.companyId)} receipt={made.receipt} />,
    }),
  }
}

/** Null once the customer was deleted or erased. */
async function loadNotebook({ reader, link }: SharedVisit, id: number): Promise<CustomerStatement | null> {
  const { record } = await getCustomer(reader, id)
  const isShown = record !== null && (JSON.parse(record) as CustomerObject).forgotten_at === null
  return isShown ? loadCustomerStatement(reader, id, link.today) : null
}

/** What a customer bought and paid; each line leads to its proof. */
async function notebookPage(visit: SharedVisit, id: number): Promise<PanelPage | null> {
  const { company } = visit
  const statement = await loadNotebook(visit, id)
  return (
    statement && {
      title: `Caderneta · ${company.name}`,
      imageOrigin: toLogoOrigin(company),
      body: (
        <>
          <StatementCards
            {...statement}
            of={`caderneta/${id}`}
            timezone={company.timezone}
            hrefOf={({ revision }) => `${SHARED}/${visit.token}/prova/${revision}`}
          />
          <p class="hint">Cada linha leva à prova dela no registro de auditoria da loja.</p>
          <div class="receipt">
            <ShopHead company={company} />
          </div>
        </>
      ),
    }
  )
}
