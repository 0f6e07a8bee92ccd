import { createUser } from '#commands/user-commands.ts'
import type { Core } from '#service/core.ts'
import { type Reply, send, type TestApi, type TestCompany } from '../support/api.ts'
import { type Call, type Case, type Kind, resolved, type Step } from './calls.ts'
import type { Outcome } from './state.ts'
import { outcomeOf, requestOf, type Ways } from './wire-form.ts'

/** Call with its response. */
export interface Observation {
  readonly call: Call
  readonly outcome: Outcome
  /** Times of request and response. */
  readonly began: number
  readonly ended: number
  /** Revision in the response; null without one. */
  readonly revision: number | null
  readonly requestId: string
  readonly isReplayed: boolean
}

/** Company and the observations of its clients. */
export interface Played {
  readonly companyId: number
  readonly core: Core
  /** The ledger's revision before the first call. */
  readonly start: number
  readonly observations: readonly Observation[]
}

const FAKE_PASSWORD = '$argon2id$v=19$nobody'
let users = 0

/**
 * Runs a case in a new company: clients concurrently, calls of a client sequentially, alternating between processes
 * that share a database.
 */
export async function play(apis: readonly [TestApi, ...TestApi[]], { before, clients }: Case): Promise<Played> {
  const [api] = apis
  const company = await api.company()
  const fields = { name: 'Caixa', email: `modelo${++users}@loja.example`, role: 'clerk' as const }
  const [cash, credit, user] = await Promise.all([
    company.paymentType('cash'),
    company.paymentType('credit_account'),
    company.run(createUser, { ...fields, password_hash: FAKE_PASSWORD }),
  ])
  const ways: Ways = { cash, credit }
  const { token, start } = await openTill(api, company, user.id)
  const known: Record<Kind, number[]> = { item: [], customer: [], receivable: [], sale: [] }
  const observations: Observation[] = []

  const exchange = (url: string, call: Call): Promise<Reply> => {
    const { method, path, body, key, isTill } = requestOf(call, ways)
    const headers = { authorization: `Bearer ${isTill ? token : company.key}` }
    const own = key === undefined ? headers : { ...headers, 'idempotency-key': key }
    return send(`${url}/api${isTill ? '' : '/v1'}${path}`, method, body, own)
  }
  const tell = async (url: string, call: Call): Promise<void> => {
    const began = performance.now()
    const reply = await exchange(url, call)
    const ended = performance.now()
    const outcome = outcomeOf(call, reply)
    const revision = reply.headers.get('x-ledger-revision')
    observations.push({
      call,
      outcome,
      began,
      ended,
      revision: revision === null ? null : Number(revision),
      requestId: reply.headers.get('x-request-id') ?? '',
      isReplayed: reply.headers.get('idempotent-replayed') === 'true',
    })
    learn(known, call, outcome)
  }
  const take = async (url: string, { call, copies }: Step): Promise<void> => {
    const concrete = resolved(call, known)
    await Promise.all(Array.from({ length: copies }, () => tell(url, concrete)))
  }
  const follow = async (steps: readonly Step[], client: number): Promise<void> => {
    const { url } = apis[client % apis.length] as TestApi
    for (const step of steps) await take(url, step)
  }
  await follow(before, 0)
  await Promise.all(clients.map(follow))
  return { companyId: company.id, core: company.core, start, observations }
}

/** Token of the user, without the cost of a password check, and the ledger's revision. */
async function openTill({ tokens }: TestApi, { id: companyId, core }: TestCompany, userId: number) {
  const { rows } = await core.pool.query<{ generation: number; start: number }>(
    `select u.generation, l.revision as start from read.users u join ops.ledgers l using (company_id)
     where u.company_id = $1 and u.id = $2`,
    [companyId, userId],
  )
  const { generation, start } = rows[0] as { generation: number; start: number }
  const { token } = await tokens.issue({ companyId, userId, generation, personGeneration: 0 })
  return { token, start }
}

/** Records the ids in a response. */
function learn(known: Record<Kind, number[]>, { act }: Call, { status, body }: Outcome): void {
  if (status >= 300 || body === null) return
  const add = (kind: Kind, id: number | null) => {
    if (id !== null && !known[kind].includes(id)) known[kind].push(id)
  }
  const kind = /^(settle|.*Receivable)$/.test(act)
    ? 'receivable'
    : /Customers?$/.test(act)
      ? 'customer'
      : /Items?$/.test(act)
        ? 'item'
        : 'sale'
  if (act === 'upload') for (const { sale_id } of body as { sale_id: number | null }[]) add('sale', sale_id)
  else if (act === 'listItems') for (const { id } of body as { id: number }[]) add('item', id)
  else if (act.startsWith('batch')) for (const { id } of (body as { data: { id: number }[] }).data) add(kind, id)
  else add(kind, (body as { id: number }).id)
}
