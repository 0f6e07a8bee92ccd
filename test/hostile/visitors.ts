import type { Pool } from 'pg'
import type { PanelRoute } from '#panel/panel-route.ts'
import type { Reply } from '../support/api.ts'
import type { TestPanel } from '../support/browser.ts'
import { openedRows } from '../support/master-key.ts'
import { hiddenFields, panelUser } from '../support/panel.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { expectNoSecret, expectPage } from './pages.ts'

/** Client of the panel with a session that no form of these tests ends. */
export interface Visitor {
  readonly is: 'owner' | 'clerk' | 'nobody'
  readonly cookie: string
  /** CSRF token of the session. */
  readonly csrf: string
}

export async function visitorsOf({ api, company }: TestPanel): Promise<readonly Visitor[]> {
  const visitorOf = async (is: 'owner' | 'clerk'): Promise<Visitor> => {
    const user = await panelUser(api, company, is)
    const { _csrf = '' } = hiddenFields((await user.get('/painel/conta')).html, '/painel/sair')
    return { is, cookie: user.cookie(), csrf: _csrf }
  }
  return [await visitorOf('owner'), await visitorOf('clerk'), { is: 'nobody', cookie: '', csrf: '' }]
}

/** Request as a browser sends it; a form is a POST. */
export interface Visited {
  readonly path: string
  readonly form?: string
  /** Whether the response may contain a secret. */
  readonly isTold?: boolean
}

/** Sends a request and checks the response and the page that it redirects to. No response may contain `secrets`. */
export async function visit(url: string, visitor: Visitor, asked: Visited, secrets: readonly string[]): Promise<Reply> {
  const { path, form, isTold } = asked
  const headers = [
    ...(visitor.cookie === '' ? [] : [['Cookie', visitor.cookie] as const]),
    ['Sec-Fetch-Site', 'same-origin'],
    ...(form === undefined ? [] : [['Content-Type', 'application/x-www-form-urlencoded'] as const]),
  ] as const
  const method = form === undefined ? 'GET' : 'POST'
  const reply = await exchange(url, bytesOf({ method, path, headers, ...(form !== undefined && { body: form }) }))
  expectPage(path, reply)
  if (!isTold) expectNoSecret(path, reply, secrets)
  const to = reply.headers.get('location')
  if (to !== null) await visit(url, visitor, { path: to }, secrets)
  return reply
}

/** Every secret that the service stores for reuse, and those issued to clients before. */
export async function secretsOf({ api, company }: TestPanel, visitors: readonly Visitor[]): Promise<string[]> {
  const { pool } = api.core
  const { rows } = await pool.query<{ secret: string }>('select password_hash as secret from ops.persons')
  const sealed = [...(await openedRows(pool, 'store_secrets')), ...(await openedRows(pool, 'webhook_secrets'))]
  const tokens = visitors.map(({ cookie }) => cookie.split('=')[1] ?? '')
  return [
    ...rows.map(({ secret }) => secret),
    ...sealed.flatMap(({ secrets }) => Object.values(secrets ?? {}) as string[]),
    ...tokens,
    company.key,
  ].filter(Boolean)
}

/** Routes with a form that shows a newly created secret once. */
const MAKING_SECRETS = [
  '/configuracoes/usuarios/novo',
  '/configuracoes/usuarios/:id/convidar',
  '/configuracoes/usuarios/:id/nova-senha',
  '/integracoes/chaves',
  '/integracoes/webhooks',
  '/integracoes/webhooks/:id/trocar-segredo',
]
export const makesSecret = (route: PanelRoute): boolean => 'submit' in route && MAKING_SECRETS.includes(route.path)

/** State that a form could change: the ledger and the data beside it. */
export async function standing(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ standing: string }>(STANDING)
  return rows[0]?.standing ?? ''
}

const digest = (table: string, columns: string) =>
  `(select md5(string_agg(row(${columns})::text, ',' order by row(${columns})::text)) from ops.${table})`

const STANDING = `select concat_ws(' ', ${[
  digest('ledgers', 'company_id, revision'),
  digest('api_key_secrets', 'api_key_id, hash'),
  digest('persons', 'email, password_hash, generation'),
  digest('sessions', 'hash, revoked_at'),
  digest('sync_tokens', 'hash, revoked_at'),
  digest('store_secrets', 'store_id, alias, secrets'),
  digest('webhook_secrets', 'webhook_id, secrets, switch_at'),
  digest('webhook_deliveries', 'id, status, tries'),
  digest('webhook_messages', 'id'),
  digest('refused_sales', 'id, times, resolved_at'),
].join(', ')}) as standing`
