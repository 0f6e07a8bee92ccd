import { cancelScheduledPrices, undoableUntil, undoPriceChange } from '#commands/price-commands.ts'
import { formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import type { PriceRule } from '#domain/prices.ts'
import type { Refusal } from '#domain/refusals.ts'
import { toHttpStatus } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { NewPrice, PriceChangeObject, PriceChangeStatus } from '#projections/price-changes.ts'
import {
  findPricedItems,
  getPriceChange,
  type ListedPriceChange,
  listPriceChanges,
  type PricedItem,
} from '#queries/item-queries.ts'
import { link } from '../page-context.ts'
import type { FormRoute, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { AsOfForm, History } from '../record-history.tsx'
import { TimeMachine } from '../time-machine.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card, type Fact, Facts, PanelBadge } from '../ui/page-parts.tsx'
import { CardPager, recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import type { FlashCode } from '../words/message-words.ts'
import { LABELS_PATH } from './label-pages.tsx'

export const PRICES_PATH = '/catalogo/precos'

const STATUS_NAMES: Readonly<Record<PriceChangeStatus, string>> = {
  scheduled: 'Agendada',
  applied: 'Feita',
  cancelled: 'Cancelada',
  undone: 'Desfeita',
}

/** `+5%, final ,90`; `custo × 1,4`. */
export function ruleText({ kind, amount, ending }: PriceRule): string {
  const parts = (whole: number) => String(Math.abs(amount) / whole).replace('.', ',')
  const text = kind === 'percent' ? `${amount < 0 ? '−' : '+'}${parts(100)}%` : `custo × ${parts(10_000)}`
  return ending === null ? text : `${text}, final ,${String(ending).padStart(2, '0')}`
}

/** Changes on the page. */
const ROWS = 10

/** Latest changes of many prices; those to come are among them. */
export async function PriceChangesCard({ visit }: { readonly visit: PageContext }) {
  const { reader, timezone } = visit.readModel
  const { alteracoes: cursor } = visit.query
  const found = await listPriceChanges(reader, { limit: ROWS, ...(cursor && { cursor }) })
  const page = isRefusal(found) ? await listPriceChanges(reader, { limit: ROWS }) : found
  return (
    <Card title="Alterações" id="alteracoes">
      <ListTable<ListedPriceChange>
        isList
        caption="Alterações"
        rows={recordsOnPage<ListedPriceChange>(page)}
        empty="As alterações de preços aparecem aqui, com as agendadas, e podem ser desfeitas."
        columns={[
          { head: 'Regra', cell: ({ id, rule }) => <a href={link(`${PRICES_PATH}/${id}`)}>{ruleText(rule)}</a> },
          { head: 'Situação', cell: ({ status }) => STATUS_NAMES[status] },
          {
            head: 'Quando',
            cell: ({ starts_at, created_at }) => formatDateTime(starts_at ?? created_at, timezone),
          },
          { head: 'Itens', cell: ({ items }) => formatCount(items), isNumber: true },
        ]}
      />
      <CardPager
        visit={visit}
        card="alteracoes"
        parameter="alteracoes"
        next={isRefusal(page) ? null : page.next}
        words={['Páginas das alterações', 'Últimas', 'Anteriores']}
      />
    </Card>
  )
}

const loadChange = (visit: PageContext) =>
  loadRecord<PriceChangeObject>(visit, ({ readModel }, id) => getPriceChange(readModel.reader, id))

interface PricedRow extends NewPrice {
  /** As the item is now; absent if it was erased with the data of a test company. */
  readonly item: PricedItem | undefined
}

/** Items of a message. */
const MENTIONED = 20

/** Names of some items, the first of many. */
export function namesText(names: readonly string[]): string {
  const more = names.length > MENTIONED ? ` e mais ${formatCount(names.length - MENTIONED)}` : ''
  return `${names.slice(0, MENTIONED).join(', ')}${more}`
}

const factsOf = (change: PriceChangeObject, timezone: string): Fact[] => {
  const at = (instant: string | null) => instant && formatDateTime(instant, timezone)
  const { status, rule, prices, starts_at, created_at, applied_at, cancelled_at, undone_at } = change
  return [
    ['Regra', ruleText(rule)],
    ['Situação', STATUS_NAMES[status]],
    ['Itens', formatCount(prices.length)],
    ['A partir de', at(starts_at)],
    ['Registrada em', at(created_at)],
    ['Aplicada em', at(applied_at)],
    ['Cancelada em', at(cancelled_at)],
    ['Desfeita em', at(undone_at)],
  ]
}

const Left = ({ ids, rows }: { readonly ids: readonly number[]; readonly rows: readonly PricedRow[] }) => {
  if (ids.length === 0) return null
  const names = rows.filter((row) => ids.includes(row.catalog_item_id)).map(nameOf)
  return (
    <p class="problem" role="note">
      {`${ids.length === 1 ? 'Um item ficou' : `${formatCount(ids.length)} itens ficaram`} como ${ids.length === 1 ? 'estava' : 'estavam'}, porque mudou depois ou foi desativado: ${namesText(names)}.`}
    </p>
  )
}

const nameOf = ({ item, catalog_item_id }: PricedRow): string => item?.name ?? `Item ${catalog_item_id}`

const Prices = ({ rows }: { readonly rows: readonly PricedRow[] }) => (
  <Card title="Preços">
    <ListTable
      caption="Preços"
      rows={rows}
      empty=""
      columns={[
        {
          head: 'Produto',
          cell: (row) =>
            row.item && !row.item.is_deleted ? (
              <a href={link(`/catalogo/${row.catalog_item_id}`)}>{nameOf(row)}</a>
            ) : (
              nameOf(row)
            ),
        },
        { head: 'Antes', cell: ({ before }) => formatMoney(before), isNumber: true },
        { head: 'Depois', cell: ({ after }) => formatMoney(after), isNumber: true },
        {
          head: 'Agora',
          cell: ({ item }) =>
            !item || item.is_deleted ? <PanelBadge tone="plain">Desativado</PanelBadge> : formatMoney(item.price),
          isNumber: true,
        },
      ]}
    />
  </Card>
)

async function showChange(visit: PageContext, problem?: string): Promise<PanelPage | null> {
  const change = await loadChange(visit)
  if (!change) return null
  const { reader, timezone, moment } = visit.readModel
  const ids = change.prices.map(({ catalog_item_id }) => catalog_item_id)
  const items = new Map((await findPricedItems(reader, ids)).map((item) => [item.id, item]))
  const rows = change.prices.map((price) => ({ ...price, item: items.get(price.catalog_item_id) }))
  const here = `${PRICES_PATH}/${change.id}`
  const until = undoableUntil(change)
  const isUndoable = !moment && until !== null && until > visit.session.now
  return {
    title: `Alteração de preços ${change.id}`,
    parent: { label: 'Alterar preços', to: PRICES_PATH },
    main: !moment &&
      change.status !== 'cancelled' && { label: 'Etiquetas', to: LABELS_PATH, parameters: { alteracao: change.id } },
    more: [isUndoable && { label: 'Desfazer', to: `${here}/desfazer`, values: { id: String(change.id) } }],
    dangers: [
      !moment &&
        change.status === 'scheduled' && {
          label: 'Cancelar agendamento',
          to: `${here}/cancelar`,
          values: { id: String(change.id) },
        },
    ],
    body: (
      <>
        {await TimeMachine({ visit, subject: `price_change/${change.id}` })}
        {problem && <Alert>{problem}</Alert>}
        <Left ids={[...new Set([...change.left, ...change.left_undone])]} rows={rows} />
        <Card title="Dados">
          <Facts facts={factsOf(change, timezone)} />
        </Card>
        <Prices rows={rows} />
        {await History({ visit, subject: `price_change/${change.id}` })}
        <AsOfForm visit={visit} />
      </>
    ),
  }
}

/** A button of the page; a refusal is told on it. */
const action = (name: string, command: Command<{ id: number }>, flash: FlashCode): FormRoute => ({
  path: `${PRICES_PATH}/:id/${name}`,
  section: 'catalog',
  access: ['edit_catalog', 'change_price'],
  async submit(submission) {
    const change = await loadChange(submission)
    if (!change) return null
    const answer = await submission.run(command, { id: change.id })
    if (!isRefusal(answer)) return { to: `${PRICES_PATH}/${change.id}`, flash }
    const page = await showChange(submission, refusedText(answer))
    return page && { ...page, status: toHttpStatus(answer.refused) }
  },
})

function refusedText({ details }: Refusal): string {
  const [messages = []] = Object.values((details?.fields ?? {}) as Record<string, string[]>)
  return `Não foi possível: ${messages.join('; ')}.`
}

export const priceChangePages: readonly PanelRoute[] = [
  { path: `${PRICES_PATH}/:id`, section: 'catalog', asOf: true, show: (visit) => showChange(visit) },
  action('desfazer', undoPriceChange, 'precos-desfeitos'),
  action('cancelar', cancelScheduledPrices, 'agendamento-cancelado'),
]
