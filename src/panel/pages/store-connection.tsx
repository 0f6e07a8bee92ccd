import type { ComponentChildren } from 'preact'
import { connectStore } from '#commands/store-connection.ts'
import { formatDateTime } from '#domain/brazilian-format.ts'
import { httpStatusOf } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runCommand } from '#ledger/write/run.ts'
import { ConnectionRefused, type ProviderConnector, type ProviderTokens } from '#payments/provider-connector.ts'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import type { StoreObject } from '#projections/stores.ts'
import { liveUser } from '#projections/users.ts'
import { getStore } from '#queries/stores.ts'
import { makeConnectionState, readConnectionState } from '../connection-state.ts'
import { link, PANEL } from '../link.ts'
import type { PageContext, PageRoute, PanelPage, Redirect } from '../route.ts'
import { Alert, Card, Facts } from '../ui/parts.tsx'
import { refusalMessage } from '../words/problems.ts'

const CONNECT_PATH = '/loja/conectar'

const pathOf = ({ id }: Pick<StoreObject, 'id'>): string => `/loja/lojas/${id}`

const redirectUriOf = ({ context }: PageContext): string => `${context.environment.publicUrl}${PANEL}${CONNECT_PATH}`

/**
 * The store's account at the provider, with the button that connects one. Null if the service cannot connect stores, and
 * in test companies: their stores need no token.
 */
export function ConnectionCard({ visit, store }: { readonly visit: PageContext; readonly store: StoreObject }) {
  const { context, session, readModel } = visit
  const { connection } = store
  if (session.isTest || (context.payments.connector === null && connection === null)) return null
  const ends = connection && formatDateTime(connection.expires_at, readModel.timezone)
  return (
    <Card title="Mercado Pago">
      {connection?.refusal && <Alert>{refusalText(connection)}</Alert>}
      {connection ? (
        <Facts
          facts={[
            ['Conta conectada', connection.account_id],
            ['Token vale até', ends],
          ]}
        />
      ) : (
        <p>Conecte a conta da loja no Mercado Pago: o token de acesso é guardado aqui e renovado sozinho.</p>
      )}
      {context.payments.connector && (
        <div class="actions">
          <a class="button" href={authorizationUrl(visit, context.payments.connector, store)}>
            {connection ? 'Conectar de novo ao Mercado Pago' : 'Conectar ao Mercado Pago'}
          </a>
        </div>
      )}
    </Card>
  )
}

const refusalText = ({ refusal }: NonNullable<StoreObject['connection']>): string =>
  `O Mercado Pago recusou renovar o acesso à conta (${refusal}). Conecte a loja de novo antes que o token acabe.`

function authorizationUrl(visit: PageContext, connector: ProviderConnector, { id }: StoreObject): string {
  const { context, session } = visit
  const { state, challenge } = makeConnectionState(
    session.csrfToken,
    id,
    Date.parse(session.now),
    context.environment.newId(),
  )
  return connector.authorizationUrl({ state, challenge, redirectUri: redirectUriOf(visit) })
}

/** Where the provider sends the owner back to. It connects the store if this session asked for it (PAY-81). */
async function connect(visit: PageContext): Promise<PanelPage | Redirect> {
  const { context, session, query } = visit
  const asked = readConnectionState(session.csrfToken, query.state ?? '', Date.parse(session.now))
  const store = asked && (await loadStore(visit, asked.storeId))
  if (!asked || !store || !context.payments.connector)
    return failed('Este pedido de conexão expirou. Comece de novo na página da loja.')
  const to = pathOf(store)
  if (query.error !== undefined || !query.code)
    return failed('O Mercado Pago não autorizou a conexão. Nada foi alterado.', to)
  const { code } = query
  const { verifier } = asked
  const exchange = { code, verifier, redirectUri: redirectUriOf(visit), sandbox: store.sandbox }
  const tokens = await context.payments.connector.exchange(exchange).catch(messageOf)
  if (typeof tokens === 'string') return failed(tokens, to)
  if (tokens.liveMode === store.sandbox)
    return failed(
      store.sandbox
        ? 'O Mercado Pago enviou um token de produção para uma loja de teste. Nada foi alterado.'
        : 'O Mercado Pago enviou um token de teste para uma loja que recebe pagamentos reais. Nada foi alterado.',
      to,
    )
  return save(visit, store, tokens)
}

async function loadStore({ readModel }: PageContext, id: number): Promise<StoreObject | null> {
  const { record } = await getStore(readModel.reader, id)
  return record === null ? null : (JSON.parse(record) as StoreObject)
}

function messageOf(error: unknown): string {
  if (error instanceof ConnectionRefused)
    return `O Mercado Pago recusou a conexão (${error.reason}). Nada foi alterado; comece de novo na página da loja.`
  if (error instanceof ProviderUnavailable)
    return 'O Mercado Pago não respondeu. Nada foi alterado; comece de novo na página da loja.'
  throw error
}

async function save(
  { context, session }: PageContext,
  { id, alias }: StoreObject,
  { accountId, accessToken, refreshToken, expiresAt }: ProviderTokens,
): Promise<PanelPage | Redirect> {
  const to = pathOf({ id })
  const acting = { ...asUser(session, 'panel', context.environment.newId()), guard: liveUser(session) }
  const granted = {
    account_id: accountId,
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: expiresAt,
  }
  const saved = await runCommand(context.writer, acting, connectStore, { alias, ...granted })
  return isRefusal(saved)
    ? failed(refusalMessage(saved), to, httpStatusOf(saved.refused))
    : { to, flash: 'loja-conectada' }
}

const failed = (message: ComponentChildren, to = '/loja', status = 409): PanelPage => ({
  title: 'Conectar ao Mercado Pago',
  parent: { label: 'Loja online', to: '/loja' },
  status,
  body: (
    <>
      <Alert>{message}</Alert>
      <div class="actions">
        <a class="button" href={link(to)}>
          Voltar à loja
        </a>
      </div>
    </>
  ),
})

/** It changes records though it is a page: the provider sends the browser here, and the state takes the token's place. */
export const connectionRoute: PageRoute = {
  path: CONNECT_PATH,
  section: 'store',
  access: 'manage_company',
  changes: true,
  openToLinks: true,
  show: connect,
}
