import type { ComponentChildren } from 'preact'
import * as z from 'zod'
import {
  CreateStoreInput,
  connectStore,
  createStore,
  disableStore,
  enableStore,
  UpdateStoreInput,
  updateStore,
} from '#commands/store-commands.ts'
import { formatCount, formatDateTime, formatPercentage } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runCommand } from '#ledger/write/run.ts'
import { COUNTED_DAYS, countUnstored } from '#payments/notifications.ts'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import { ConnectionRefused, type ProviderConnector, type ProviderTokens } from '#payments/store-connections.ts'
import type { StoreObject } from '#projections/stores.ts'
import { liveUser } from '#projections/users.ts'
import { getStore, listStores } from '#queries/company-queries.ts'
import { STORE_FIELDS } from '#records/company-settings.ts'
import { passwordInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link, PANEL } from '../page-context.ts'
import { makeConnectionState, readConnectionState } from '../panel-live.tsx'
import type { PageContext, PageRoute, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { fieldInputs } from '../record-fields.ts'
import { History } from '../record-history.tsx'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, ButtonLink, Card, Facts, PanelBadge } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { refusalMessage } from '../words/message-words.ts'
import { ORDERS_PATH, OrderList } from './order-lists.tsx'

const CONNECT_PATH = '/loja/conectar'

const pathOf = ({ id }: Pick<StoreObject, 'id'>): string => `/loja/lojas/${id}`

const redirectUriOf = ({ context }: PageContext): string => `${context.environment.publicUrl}${PANEL}${CONNECT_PATH}`

/**
 * The store's account at the provider, with the button that connects one. Null if the service cannot connect stores, and
 * in test companies: their stores need no token.
 */
function ConnectionCard({ visit, store }: { readonly visit: PageContext; readonly store: StoreObject }) {
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

/** Where the provider sends the owner back to. It connects the store if this session asked for it. */
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
    ? failed(refusalMessage(saved), to, toHttpStatus(saved.refused))
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
const connectionRoute: PageRoute = {
  path: CONNECT_PATH,
  section: 'store',
  access: 'manage_company',
  changes: true,
  openToLinks: true,
  show: connect,
}

const HOME = '/loja'
const PATH = `${HOME}/lojas`
const ONE = `${PATH}/:id`
const at = { section: 'store', access: 'see_company' } as const
const changing = { ...at, access: 'manage_company' } as const

/** Stores on the page; a company has fewer. */
const MOST_SHOWN = 200

async function showOverview(visit: PageContext): Promise<PanelPage> {
  const { reader, moment } = visit.readModel
  const stores = await listStores(reader, MOST_SHOWN)
  const seesAll = may(visit.session.permissions, 'see_company')
  const body = (
    <>
      <Card title="Pedidos" aside={!moment && <ButtonLink to={`${ORDERS_PATH}/novo`}>Novo pedido</ButtonLink>}>
        {await OrderList({ visit, stores })}
      </Card>
      <Card title="Lojas" aside={!moment && <ButtonLink to={`${PATH}/nova`}>Nova loja</ButtonLink>}>
        <StoreTable stores={stores} seesAll={seesAll} />
      </Card>
    </>
  )
  return { title: 'Loja online', body }
}

const StoreBadge = ({ enabled }: Pick<StoreObject, 'enabled'>) =>
  enabled ? <PanelBadge tone="good">Ligada</PanelBadge> : <PanelBadge tone="plain">Desligada</PanelBadge>

const StoreTable = ({ stores, seesAll }: { readonly stores: readonly StoreObject[]; readonly seesAll: boolean }) => (
  <ListTable
    isList
    caption="Lojas"
    rows={stores}
    empty="Nenhuma loja ainda. Uma loja recebe pedidos com pagamento por link."
    columns={[
      {
        head: 'Loja',
        cell: ({ id, alias }) => (seesAll ? <a href={link(`${PATH}/${id}`)}>{alias}</a> : <span>{alias}</span>),
      },
      { head: 'Situação', cell: ({ enabled }) => <StoreBadge enabled={enabled} /> },
      {
        head: STORE_FIELDS.commission_percentage.label,
        cell: ({ commission_percentage }) => formatPercentage(commission_percentage),
        isNumber: true,
      },
      { head: 'Ambiente', cell: ({ sandbox }) => (sandbox ? 'Teste' : 'Produção') },
    ]}
  />
)

/** Write-only, and excluded from the browser's password manager. */
const secrets: Fields = {
  access_token: {
    label: 'Access Token do Mercado Pago',
    kind: passwordInput('new-password'),
    hint: 'Começa com APP_USR-. Sem ele a loja não recebe pagamentos. Se vazio, fica como está.',
  },
  notification_secret: {
    label: 'Assinatura secreta das notificações',
    kind: passwordInput('new-password'),
    hint: 'Com ela os avisos de pagamento do Mercado Pago são conferidos. Se vazio, fica como está.',
  },
}

const APPLICATIONS = 'https://www.mercadopago.com.br/developers/panel/app'

/** Where a shop finds both secrets. */
const MercadoPagoSteps = ({ address }: { readonly address: string }) => (
  <Card title="Onde achar no Mercado Pago">
    <ol>
      <li>
        Entre em{' '}
        <a href={APPLICATIONS} rel="noreferrer">
          Suas integrações
        </a>{' '}
        com a conta que vai receber e crie uma aplicação do tipo Pagamentos on-line.
      </li>
      <li>
        Em <strong>Credenciais de produção</strong>, ative as credenciais e copie o <strong>Access Token</strong>.
      </li>
      <li>
        Em <strong>Webhooks &gt; Configurar notificações</strong>, aba Modo de produção, informe <code>{address}</code>,
        marque o evento Pagamentos e salve: aparece a <strong>assinatura secreta</strong>.
      </li>
      <li>Cole os dois nos campos abaixo. Eles ficam guardados cifrados e não são mostrados de novo.</li>
    </ol>
  </Card>
)

const notificationAddress = ({ context }: PageContext, alias: string): string =>
  `${context.environment.publicUrl}/webhook/paymentprovider/${alias}`

/** The operator sets the commission; a value in a form is ignored. */
const { commission_percentage: _, ...WRITTEN } = STORE_FIELDS

const { alias, registers_sales, sandbox } = fieldInputs(WRITTEN, {
  alias: {},
  registers_sales: { label: 'Registrar a venda de cada pedido pago e baixar o estoque' },
  sandbox: { label: 'Loja de teste (não recebe pagamentos reais)' },
})

const NEW: Fields = { alias, ...secrets, registers_sales, sandbox }

/** An empty secret field keeps the secret. */
const omitEmptyFields = <T,>(schema: z.ZodType<T>) =>
  z.preprocess(
    (input) => Object.fromEntries(Object.entries(input as object).filter(([, value]) => value !== null)),
    schema,
  )

const storeOf = (visit: PageContext): Promise<StoreObject | null> =>
  loadRecord(visit, ({ readModel: { reader } }, id) => getStore(reader, id))

async function showStore(visit: PageContext): Promise<PanelPage | null> {
  const store = await storeOf(visit)
  if (!store) return null
  const here = `${PATH}/${store.id}`
  const { enabled } = store
  const unkept = await countUnstored(visit.primary, store.id)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <StoreBadge enabled={enabled} />],
            [STORE_FIELDS.commission_percentage.label, formatPercentage(store.commission_percentage)],
            ['Pedido pago', store.registers_sales ? 'Vira venda e baixa o estoque' : 'Não vira venda'],
            ['Ambiente', store.sandbox ? 'Teste' : 'Produção'],
            ['Access Token', store.has_access_token ? 'Guardado' : 'Falta'],
            ['Assinatura secreta', store.has_notification_secret ? 'Guardado' : 'Falta'],
            ['Última alteração', formatDateTime(store.updated_at, visit.readModel.timezone)],
          ]}
        />
      </Card>
      <ConnectionCard visit={visit} store={store} />
      <Card title="Endereço das notificações">
        <p>
          <code>{`${notificationAddress(visit, store.alias)}/{pedido}`}</code>
        </p>
        <p class="hint">É informado ao provedor em cada pagamento; não é preciso cadastrá-lo.</p>
        {unkept > 0 && (
          <p class="problem" role="note">
            {`Notificações dos últimos ${COUNTED_DAYS} dias que só foram contadas, porque vieram demais em uma hora: ${formatCount(unkept)}.`}
          </p>
        )}
      </Card>
      {await History({ visit, subject: `store/${store.id}`, isNowOnly: true })}
    </>
  )
  return {
    title: `Loja ${store.alias}`,
    parent: { label: 'Loja online', to: HOME },
    lead: <StoreBadge enabled={enabled} />,
    body,
    main: { label: 'Editar', to: `${here}/editar` },
    more: [!enabled && { label: 'Ligar', to: `${here}/ligar`, values: {} }],
    dangers: [enabled && { label: 'Desligar', to: `${here}/desligar`, values: {} }],
  }
}

const OPERATOR_FIELDS = { commission_percentage: true } as const

/** Stores with their orders; opening a store, its secrets, and switching it. */
export const storePages: readonly PanelRoute[] = [
  { path: HOME, section: 'store', asOf: true, show: showOverview },
  ...formPages({
    ...changing,
    path: `${PATH}/nova`,
    subject: ({ context }) => ({ commission_percentage: context.environment.storeCommission }),
    title: () => 'Nova loja',
    before: ({ commission_percentage }, visit) => (
      <>
        <p>{`Comissão do serviço: ${formatPercentage(commission_percentage)} de cada pagamento.`}</p>
        <MercadoPagoSteps address={notificationAddress(visit, 'apelido')} />
      </>
    ),
    label: 'Criar loja',
    back: () => HOME,
    fields: () => NEW,
    initial: () => ({ registers_sales: true }),
    schema: omitEmptyFields(CreateStoreInput.omit(OPERATOR_FIELDS)),
    async act(submission, given, input) {
      const answer = await submission.run(createStore, { ...input, ...given })
      return isRefusal(answer) ? answer : { to: pathOf(answer.record as StoreObject), flash: 'criado' }
    },
  }),
  { ...at, path: ONE, show: showStore },
  connectionRoute,
  ...formPages({
    ...changing,
    path: `${ONE}/editar`,
    subject: storeOf,
    title: ({ alias }) => `Editar ${alias}`,
    before: ({ alias }, visit) => <MercadoPagoSteps address={notificationAddress(visit, alias)} />,
    label: 'Salvar',
    back: ({ id }) => `${PATH}/${id}`,
    fields: () => ({ ...secrets, registers_sales }),
    initial: ({ registers_sales }) => ({ registers_sales }),
    schema: omitEmptyFields(UpdateStoreInput.omit({ alias: true, ...OPERATOR_FIELDS })),
    act: (submission, { id, alias }, changes) =>
      runAndRedirect(submission, updateStore, { alias, ...changes }, { to: `${PATH}/${id}`, flash: 'alterado' }),
  }),
  buttonRoute({
    ...changing,
    path: `${ONE}/ligar`,
    subject: storeOf,
    act: (submission, { id, alias }) =>
      runAndRedirect(submission, enableStore, { alias }, { to: `${PATH}/${id}`, flash: 'loja-ligada' }),
  }),
  buttonRoute({
    ...changing,
    path: `${ONE}/desligar`,
    subject: storeOf,
    act: (submission, { id, alias }) =>
      runAndRedirect(submission, disableStore, { alias }, { to: `${PATH}/${id}`, flash: 'loja-desligada' }),
  }),
]
