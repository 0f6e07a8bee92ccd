import * as z from 'zod'
import { type Refusal, type RefusalCode, refuse, refuseField } from '#domain/refusals.ts'
import { SCOPES } from '#domain/rights.ts'
import { bySpecificity, describeQuery, matchPath, type Params } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { type AsOfCore, type AsOfMoment, type CompanyAsOf, withPastCompany } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { Reader, WHOLE } from '#queries/reader.ts'
import type { ReadAnswer, ReadRoute } from './api-route.ts'
import { V1_ROUTES } from './api-v1.ts'
import { proofRoutes } from './v1/proof-routes.ts'
import { receiptRoute } from './v1/sale-routes.ts'

const READS = bySpecificity(V1_ROUTES.filter((route): route is ReadRoute => 'read' in route))

/**
 * Paths without an as-of answer: the current key and clock, verification of the ledger as stored now, and its proofs.
 */
const OF_NOW = ['/me', '/test/clock', '/events/verify', ...[receiptRoute, ...proofRoutes].map(({ path }) => path)]

const NOT_OF_THE_LEDGER =
  'depende do que não está no livro (saúde e entregas de webhooks, registro de notificações, a própria chave): do passado não há resposta'

const UNDEFINED_TABLE = '42P01'

/**
 * Answer that GET `target` (a path below /api/v1 with its query) gave, or would have given, at a past moment of a
 * company. Refuses what the service would have refused, and what the ledger does not contain.
 */
export function readPast(
  core: AsOfCore,
  companyId: number,
  at: AsOfMoment,
  target: string,
): Promise<ReadAnswer | Refusal> {
  const read = parseTarget(target)
  // Checked before the replay.
  if (isRefusal(read)) return Promise.resolve(read)
  return withPastCompany(core, companyId, at, (asOf) => runRead(read, asOf))
}

/** One of several answers of a company at the same past moment. */
export async function answerPast(asOf: CompanyAsOf, target: string): Promise<ReadAnswer | Refusal> {
  const read = parseTarget(target)
  return isRefusal(read) ? read : runRead(read, asOf)
}

interface AsOfRead {
  readonly route: ReadRoute
  readonly params: Params
  readonly query: unknown
}

function parseTarget(target: string): AsOfRead | Refusal {
  const [address = '', ...search] = target.split('?')
  const path = address.replace(/^\/api\/v1(?=\/)/, '')
  for (const route of READS) {
    const params = matchPath(route.path, path)
    if (!params) continue
    if (OF_NOW.includes(route.path)) return refuseField('get', NOT_OF_THE_LEDGER)
    const given = queryOf(new URLSearchParams(search.join('?')))
    const query = (route.query ?? z.strictObject({})).safeParse(given)
    if (!query.success) return refuse('validation_failed', { ...describeQuery(query.error, given) })
    return { route, params, query: query.data }
  }
  return refuseField('get', 'não é um endereço de leitura da API v1, como "/sales/9"')
}

/** Parsed as the HTTP interface does: a repeated name becomes a list, which no parameter accepts. */
function queryOf(search: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(search.keys())].map((name) => {
      const [first = '', ...others] = search.getAll(name)
      return [name, others.length === 0 ? first : [first, ...others]]
    }),
  )
}

/** Stub for dependencies outside the tables, which have no as-of state. */
const rejectAsOf = () => Promise.reject(new Error('not available for a past state: not part of the ledger'))
const UNAVAILABLE_AS_OF = {
  quota: { perMinute: 0, perDay: 0, bytesPerDay: 0 },
  provider: { getPaymentMethods: rejectAsOf, getCardOptions: rejectAsOf },
  verifier: { verify: rejectAsOf },
  proof: {
    checkpointOf: rejectAsOf,
    newest: rejectAsOf,
    placeOf: rejectAsOf,
    keys: rejectAsOf,
    log: rejectAsOf,
    attestors: rejectAsOf,
  },
  prover: { inclusion: rejectAsOf, consistency: rejectAsOf },
  calls: { flush: async () => {} },
  pool: { query: rejectAsOf },
}

async function runRead(
  { route, params, query }: AsOfRead,
  { companyId, source, store, keys, calendar, paymentLinks }: CompanyAsOf,
): Promise<ReadAnswer | Refusal> {
  const caller = { companyId, keyId: 0, scopes: SCOPES, ...calendar }
  const refuseSecrets = () => {
    throw new Error('as-of read: secrets have no history and cannot be read')
  }
  const vault = { seal: refuseSecrets, open: refuseSecrets }
  const reader = new Reader(companyId, source, WHOLE)
  const reading = { ...UNAVAILABLE_AS_OF, reader, vault, store, keys, paymentLinks, caller, params, query }
  try {
    return (await route.read(reading)) ?? refuse('not_found')
  } catch (error) {
    if (error instanceof Problem) return refuse(error.code as RefusalCode, error.details)
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return refuseField('get', NOT_OF_THE_LEDGER)
    throw error
  }
}
