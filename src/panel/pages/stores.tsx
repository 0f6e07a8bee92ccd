import * as z from 'zod'
import {
  CreateStoreInput,
  createStore,
  disableStore,
  enableStore,
  UpdateStoreInput,
  updateStore,
} from '#commands/stores.ts'
import { formatCount, formatDateTime, formatPercentage } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { COUNTED_DAYS, countUnstored } from '#payments/notification-log.ts'
import type { StoreObject } from '#projections/stores.ts'
import { getStore, listStores } from '#queries/stores.ts'
import type { Fields } from '../forms/form.ts'
import { lineInput, passwordInput, yesOrNoInput } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../route.ts'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { History } from '../ui/history.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, PanelBadge } from '../ui/parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { OrderList } from './orders.tsx'
import { ConnectionCard, connectionRoute } from './store-connection.tsx'

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
      <Card title="Pedidos">{await OrderList({ visit, stores })}</Card>
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
    empty="Nenhuma loja ainda."
    columns={[
      {
        head: 'Loja',
        cell: ({ id, alias }) => (seesAll ? <a href={link(`${PATH}/${id}`)}>{alias}</a> : <span>{alias}</span>),
      },
      { head: 'Situação', cell: ({ enabled }) => <StoreBadge enabled={enabled} /> },
      {
        head: 'Comissão',
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
    label: 'Token de acesso do provedor',
    kind: passwordInput('new-password'),
    hint: 'Sem ele a loja não recebe pagamentos. Deixe em branco para manter como está.',
  },
  notification_secret: {
    label: 'Segredo das notificações',
    kind: passwordInput('new-password'),
    hint: 'Com ele as notificações do provedor são conferidas. Deixe em branco para manter como está.',
  },
}

const registers_sales = {
  label: 'Registrar a venda de cada pedido pago e baixar o estoque',
  kind: yesOrNoInput,
  hint: 'Desmarque só se outro sistema registra as vendas da loja.',
}

const NEW: Fields = {
  alias: {
    label: 'Apelido',
    kind: lineInput,
    isRequired: true,
    hint: 'Aparece nos links e não muda mais. Ex.: minha-loja',
  },
  ...secrets,
  registers_sales,
  sandbox: { label: 'Loja de teste (não recebe pagamentos reais)', kind: yesOrNoInput },
}

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
  const unkept = await countUnstored(visit.context.reads.pool, visit.session.companyId, store.id)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <StoreBadge enabled={enabled} />],
            ['Comissão', formatPercentage(store.commission_percentage)],
            ['Pedido pago', store.registers_sales ? 'Vira venda e baixa o estoque' : 'Não vira venda'],
            ['Ambiente', store.sandbox ? 'Teste' : 'Produção'],
            ['Token de acesso', store.has_access_token ? 'Guardado' : 'Falta'],
            ['Segredo das notificações', store.has_notification_secret ? 'Guardado' : 'Falta'],
            ['Última alteração', formatDateTime(store.updated_at, visit.readModel.timezone)],
          ]}
        />
      </Card>
      <ConnectionCard visit={visit} store={store} />
      <Card title="Endereço das notificações">
        <p>
          <code>{`${visit.context.environment.publicUrl}/webhook/paymentprovider/${store.alias}/{pedido}`}</code>
        </p>
        <p class="hint">É informado ao provedor em cada pagamento; não é preciso cadastrá-lo.</p>
        {unkept > 0 && (
          <p class="problem" role="note">
            {`Notificações dos últimos ${COUNTED_DAYS} dias que só foram contadas, porque vieram demais em uma hora: ${formatCount(unkept)}.`}
          </p>
        )}
      </Card>
      {await History({ visit, subject: `store/${store.id}` })}
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

/** The operator sets the commission; a value in a form is ignored. */
const OPERATOR_FIELDS = { commission_percentage: true } as const

/** Stores with their orders; opening a store, its secrets, and switching it. */
export const storePages: readonly PanelRoute[] = [
  { path: HOME, section: 'store', asOf: true, show: showOverview },
  ...formPages({
    ...changing,
    path: `${PATH}/nova`,
    subject: ({ context }) => ({ commission_percentage: context.environment.storeCommission }),
    title: () => 'Nova loja',
    before: ({ commission_percentage }) => (
      <p>{`Comissão do serviço: ${formatPercentage(commission_percentage)} de cada pagamento.`}</p>
    ),
    label: 'Criar loja',
    back: () => HOME,
    fields: () => NEW,
    initial: () => ({ registers_sales: true }),
    schema: omitEmptyFields(CreateStoreInput.omit(OPERATOR_FIELDS)),
    act: (submission, given, input) =>
      runAndRedirect(submission, createStore, { ...input, ...given }, { to: HOME, flash: 'criado' }),
  }),
  { ...at, path: ONE, show: showStore },
  connectionRoute,
  ...formPages({
    ...changing,
    path: `${ONE}/editar`,
    subject: storeOf,
    title: ({ alias }) => `Editar ${alias}`,
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
