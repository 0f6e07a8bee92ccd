import { createHmac } from 'node:crypto'
import type { Request } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { addDays, Instant, localInstant, startOfDay } from '#domain/instant.ts'
import { getTraits, may, type Permission, type RolePermissions } from '#domain/rights.ts'
import { bySpecificity } from '#http/paths.ts'
import { Problem, problemOfReason } from '#http/problems.ts'
import { type AsOfMoment, type CompanyAsOf, PastUnavailable, withPastCompany } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { LATEST } from '#ledger/replicas/replicas.ts'
import { type Answer, type DryRun, lookUpReplay, ownKey } from '#ledger/write/idempotency.ts'
import { asUser, runCommand } from '#ledger/write/run.ts'
import { liveUser } from '#projections/users.ts'
import { presentSource, Reader, type Sight } from '#queries/reader.ts'
import type { OwnSales } from '#queries/tables.ts'
import { type FormBody, formBody, formText } from './forms/panel-form.ts'
import { doneBefore } from './panel-cookies.ts'
import type { FormSubmission, PageAccess, PageContext, PanelRoute, PanelServices, RouteReach } from './panel-route.ts'

export const PANEL = '/painel'

/** Address of the till's own app. */
export const TILL_PATH = '/caixa'

export const FIRST_STEPS_PATH = '/primeiros-passos'

/** Address of a page of the panel; empty parameters are omitted. */
export function link(
  path: string,
  parameters: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  const query = search.toString()
  return `${PANEL}${path === '/' ? '' : path}${query === '' ? '' : `?${query}`}`
}

/** Whether a page leads only to a change, or a form makes one; by default forms do, and pages do not. */
export const changesRecords = (route: PanelRoute): boolean => route.changes ?? 'submit' in route

const listOf = (access: PageAccess): readonly Permission[] =>
  access === 'everyone' ? [] : typeof access === 'string' ? [access] : access

/** Permissions that a route needs; files of lists need one more. */
export const permissionsFor = (route: PanelRoute): readonly Permission[] => [
  ...new Set([...listOf(route.access ?? 'everyone'), ...('table' in route ? (['export'] as const) : [])]),
]

/** Whether a role may see pages with this access rule. */
export const maySee = (role: RolePermissions, access: PageAccess): boolean =>
  listOf(access).every((permission) => may(role, permission))

/**
 * Whether a role may open a page or submit a form: it needs the permissions of the route, and read-only roles change
 * nothing.
 */
export const mayOpen = (role: RolePermissions, route: PanelRoute): boolean =>
  maySee(role, permissionsFor(route)) && !(getTraits(role.role).readsOnly && changesRecords(route))

/** The route that answers a method at a path below the panel. */
export function routeAt(
  routes: readonly PanelRoute[],
): (method: 'GET' | 'POST', path: string) => PanelRoute | undefined {
  const places = bySpecificity(routes).map((route) => ({
    route,
    method: 'submit' in route ? 'POST' : 'GET',
    pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
  }))
  return (method, path) => places.find((place) => place.method === method && place.pattern.test(path))?.route
}

/** Addresses that a role may open; unknown addresses are not refused. */
export function createRouteReach(routes: readonly PanelRoute[]): (role: RolePermissions) => RouteReach {
  const find = routeAt(routes)
  return (role) => (method, path) => {
    const route = find(method, path)
    return !route || mayOpen(role, route)
  }
}

/** Context of a request on the present read model. The router sets `params` once a route matches. */
export function createPageContext(
  context: PanelServices,
  session: PanelSession,
  reaches: RouteReach,
  request: Request,
): PageContext {
  const search = new URLSearchParams(request.originalUrl.split('?').slice(1).join('?'))
  const { feito, ...query } = Object.fromEntries([...search].reverse())
  const { companyId, timezone, today } = session
  const primary = new Reader(companyId, presentSource(context.reads.poolOf(companyId)), toSight(session))
  return {
    context,
    session,
    primary,
    readModel: { companyId, reader: primary, timezone, today, moment: null },
    params: {},
    query,
    path: request.path,
    flash: doneBefore(request, feito),
    reaches,
  }
}

/** Without `see_all_sales`, users see their own sales of the company's today (ROLE-105). */
function ownSalesOf({ permissions, userId, today, timezone }: SeeingUser): OwnSales | null {
  if (may(permissions, 'see_all_sales')) return null
  return { userId, from: startOfDay(today, timezone), to: startOfDay(addDays(today, 1), timezone) }
}

type SeeingUser = Pick<PanelSession, 'permissions' | 'seesPersonalData' | 'userId' | 'today' | 'timezone'>

/** What the role of a user sees. */
export const toSight = (session: SeeingUser): Sight => ({
  hidesPersons: !session.seesPersonalData,
  hidesCosts: !may(session.permissions, 'see_costs'),
  hidesPayables: !may(session.permissions, 'see_payables'),
  ownSales: ownSalesOf(session),
})

/**
 * Context that may read from a replica. Pages show everything committed before the request, wherever they are read.
 */
export function withReplicaReads(visit: PageContext): PageContext {
  const { context, readModel, primary } = visit
  const { pool, store } = context.reads.readsOf(primary.companyId, LATEST)
  const reader = new Reader(primary.companyId, presentSource(pool), primary.sight)
  return { ...visit, context: { ...context, reads: { ...context.reads, store } }, readModel: { ...readModel, reader } }
}

/** @throws Problem if the body of the request is not a form */
export function readFormBody(request: Request): FormBody {
  const form = formBody.safeParse({ ...request.body })
  if (!form.success) throw new Problem('validation_failed')
  return form.data
}

const KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** `permissions`: those of the form, which still count when its commands are decided. */
type RequestSource = Pick<FormSubmission, 'requestId' | 'address' | 'file'> & {
  readonly permissions: readonly Permission[]
}

/** Context of a form submission. Its commands run as the user, with the panel as their origin. */
export function createFormSubmission(
  visit: PageContext,
  form: FormBody,
  { requestId, address, file, permissions }: RequestSource,
): FormSubmission {
  const { _csrf, ...content } = form
  const key = formText(form, '_key')
  if (!KEY.test(key)) throw new Problem('validation_failed')
  // Keyed with a secret of the session: the ledger keeps the hash, and a form may contain a password that could be
  // guessed.
  const requestHash = createHmac('sha256', visit.session.csrfToken)
    .update(JSON.stringify([visit.path, content]))
    .digest('hex')
  let commands = 0
  const idempotencyOf = (command: number) => ({ key: ownKey(`painel:${key}:${command}`), requestHash })
  const idempotency = () => idempotencyOf(commands++)
  const { companyId } = visit.session
  const user = asUser(visit.session, 'panel', requestId)
  const isRepeated = async () =>
    (await lookUpReplay(visit.context.reads.poolOf(companyId), { ...user, idempotency: idempotencyOf(0) })) !== null
  const submissionBy = (approverId: number | null, told?: DryRun[]): FormSubmission => {
    const guard = liveUser(visit.session, approverId, permissions)
    const acting = { ...user, guard, ...(told && { isDryRun: true }) }
    const note = (answer: Answer): Answer => {
      if (answer.dryRun) told?.push(answer.dryRun)
      return answer
    }
    return {
      ...visit,
      form,
      requestId,
      acting,
      address,
      file,
      idempotency,
      isRepeated,
      approvedBy: (userId) => submissionBy(userId, told),
      tried: (all) => submissionBy(approverId, all),
      note,
      async run(command, input) {
        const answering = { idempotency: idempotency() }
        const answer = await runCommand(visit.context.writer, acting, command, input, answering)
        return isRefusal(answer) ? answer : note(answer)
      },
    }
  }
  return submissionBy(null)
}

/** Retry delay in seconds, at the limits of reading the past. */
const RETRY_AFTER = { 'Retry-After': '10' }

/** @throws Problem at these limits */
export function failPast(error: unknown): never {
  throw error instanceof PastUnavailable ? problemOfReason(error.reason, RETRY_AFTER) : error
}

/** Shows a page as of the moment in `?em=`, or at present without it; `gone` aborts it. */
export async function atMoment<T>(
  visit: PageContext,
  show: (visit: PageContext) => Promise<T>,
  gone: AbortSignal,
): Promise<T> {
  const asked = visit.query.em?.trim()
  if (!asked) return show(visit)
  const at = parseMoment(asked, visit.readModel.timezone)
  if (!at)
    throw new Problem('validation_failed', {
      fields: { em: ['informe uma data com hora ou o número de um evento'] },
    })
  const { companyId } = visit.session
  const showThen = async ({ source, calendar, revision }: CompanyAsOf) => ({
    of: await show({
      ...visit,
      readModel: {
        companyId,
        reader: new Reader(companyId, source, visit.primary.sight),
        ...calendar,
        moment: { asked, at, revision },
      },
    }),
  })
  const shown = await withPastCompany(visit.context.reads, companyId, at, showThen, gone).catch(failPast)
  if (isRefusal(shown)) throw new Problem('validation_failed', shown.details)
  return shown.of
}

/** A revision, a local date and time of the company, or an instant with an offset. */
export function parseMoment(asked: string, timezone: string): AsOfMoment | null {
  if (/^\d{1,15}$/.test(asked)) return { revision: Number(asked) }
  const time = localInstant(asked, timezone) ?? Instant.safeParse(asked).data
  return time === undefined ? null : { time }
}
