import type { ComponentChildren } from 'preact'
import { formatCount, formatMoney, formatPersonName, formatUnits } from '#domain/person-values.ts'
import { findUnits, unitIn } from '#queries/item-queries.ts'
import type { Reconciliation, SalesReconciliation, WayReconciliation } from '#queries/sales-sums.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext, PanelPage } from '../panel-route.ts'
import { ButtonForm } from './form-fields.tsx'
import { type Column, ListTable } from './list-table.tsx'
import { ButtonLink, Card, Facts, Figure, Icon } from './page-parts.tsx'

interface CancelledProps {
  readonly visit: PageContext
  /** Label and value of the relevant time. */
  readonly when: readonly [name: string, time: string]
  readonly of: {
    readonly customer: { readonly name: string | null } | null
    readonly items: readonly {
      readonly catalog_item_id: number | null
      readonly description: string
      readonly quantity: string
      readonly total: string
    }[]
    readonly total: string
  }
}

/** Details of the record to be cancelled, so that users notice a wrong choice before it is final. */
export async function Cancelled({ visit, when, of: { customer, items, total } }: CancelledProps) {
  const units = await findUnits(visit.readModel.reader, items)
  return (
    <Card title="O que será cancelado">
      <Facts
        facts={[
          when,
          ['Cliente', customer && formatPersonName(customer.name)],
          ['Total', <strong>{formatMoney(total)}</strong>],
        ]}
      />
      <ListTable
        caption="Itens"
        rows={items}
        empty="Nenhum item."
        columns={[
          { head: 'Item', cell: ({ description }) => description },
          { head: 'Quantidade', cell: (item) => formatUnits(item.quantity, unitIn(units, item)), isNumber: true },
          { head: 'Total', cell: (item) => formatMoney(item.total), isNumber: true },
        ]}
      />
    </Card>
  )
}

/** Most actions outside the menu: with a menu, and without one (only if none is dangerous). */
const SHOWN = { besideMenu: 1, alone: 2 }

/**
 * Head of a page: breadcrumb, title, state, and one main action. A few other actions are visible; more, and dangerous
 * ones, are in a menu.
 */
export const Head = ({ page, visit }: { readonly page: PanelPage; readonly visit: PageContext }) => {
  const { title, lead, parent } = page
  const [main] = open([page.main], visit)
  const more = open(page.more, visit)
  const dangers = open(page.dangers, visit)
  const isShort = more.length <= (dangers.length > 0 ? SHOWN.besideMenu : SHOWN.alone)
  const inMenu = isShort ? [] : more
  return (
    <div class="head">
      <div class="head-text">
        {parent && (
          <a class="crumb" href={link(parent.to)}>
            <Icon name="back" />
            {parent.label}
          </a>
        )}
        <h1>{title}</h1>
        {lead && <div class="lead">{lead}</div>}
      </div>
      {(main || more.length > 0 || dangers.length > 0) && (
        <div class="head-actions">
          {isShort && more.map((action) => <ActionPart key={action.label} action={action} visit={visit} />)}
          {inMenu.length + dangers.length > 0 && <MoreActions more={inMenu} dangers={dangers} visit={visit} />}
          {main && <ActionPart action={main} visit={visit} isMain />}
        </div>
      )}
    </div>
  )
}

/** The actions that the user may take. */
const open = (actions: PanelPage['more'] | readonly [PanelPage['main']] = [], { reaches }: PageContext): PageAction[] =>
  actions.flatMap((action) => (action && reaches(action.values ? 'POST' : 'GET', action.to) ? [action] : []))

interface MoreActionsProps {
  readonly more: readonly PageAction[]
  readonly dangers: readonly PageAction[]
  readonly visit: PageContext
}

const MoreActions = ({ more, dangers, visit }: MoreActionsProps) => (
  <details class="more">
    <summary>
      <Icon name="more" />
      Mais ações
    </summary>
    <div>
      {more.map((action) => (
        <ActionPart key={action.label} action={action} visit={visit} />
      ))}
      {dangers.length > 0 && (
        <div class={more.length > 0 ? 'dangers' : 'dangers only'}>
          {dangers.map((action) => (
            <ActionPart key={action.label} action={action} visit={visit} />
          ))}
        </div>
      )}
    </div>
  </details>
)

interface ActionPartProps {
  readonly action: PageAction
  readonly visit: PageContext
  readonly isMain?: boolean
}

const ActionPart = ({ action: { label, to, parameters, values, prints }, visit, isMain }: ActionPartProps) =>
  prints ? (
    <button type="button" class={isMain ? 'main' : undefined} data-print hidden>
      {label}
    </button>
  ) : values ? (
    <ButtonForm visit={visit} to={to} label={label} values={values} isMain={isMain} />
  ) : (
    <ButtonLink to={to} parameters={parameters} isMain={isMain}>
      {label}
    </ButtonLink>
  )

export const pluralize = (count: number, one: string, many: string): string =>
  Math.abs(count) === 1 ? `${count} ${one}` : `${formatCount(count)} ${many}`

/** Name of a way of paying; tills may have named payment types that do not exist. */
export const wayName = ({ key, name }: Pick<WayReconciliation, 'key' | 'name'>): string =>
  key === '' ? 'Sem forma de pagamento' : (name ?? `Forma de pagamento ${key}`)

interface TableProps {
  readonly caption: string
  /** Scope of its figures: `total`, `caixa/user/3`. */
  readonly of: string
  readonly sales: SalesReconciliation
  readonly empty: string
  /** The way's name with a link to its sales; the name alone without it. */
  readonly linked?: (way: WayReconciliation, name: string) => ComponentChildren
}

const isAny = ({ count, amount }: Reconciliation['sold']): boolean => count !== 0 || amount !== '0.00'

type Row = Reconciliation & { readonly head: ComponentChildren; readonly of: string }

/** Sales by way of paying and in all: what was sold, less what was cancelled and returned, is the net. */
export const ReconciliationTable = ({ caption, of, sales, empty, linked }: TableProps) => {
  const amount = (head: string, name: string, amountOf: (row: Row) => string): Column<Row> => ({
    head,
    cell: (row) => (
      <Figure name={name} of={row.of}>
        {formatMoney(amountOf(row))}
      </Figure>
    ),
    isNumber: true,
  })
  const hasLess = isAny(sales.cancelled) || isAny(sales.returned)
  const ways = sales.ways.map((way) => ({
    ...way,
    head: linked ? linked(way, wayName(way)) : wayName(way),
    of: `${of}/forma/${way.key || 0}`,
  }))
  const rows: Row[] = ways.length === 0 ? [] : [...ways, { ...sales, head: <strong>Total</strong>, of: `${of}/formas` }]
  return (
    <ListTable<Row>
      isList
      caption={caption}
      rows={rows}
      empty={empty}
      columns={[
        { head: 'Forma', cell: ({ head }) => head },
        {
          head: 'Vendas',
          cell: ({ sold, of }) => (
            <Figure name="vendas" of={of}>
              {formatCount(sold.count)}
            </Figure>
          ),
          isNumber: true,
        },
        hasLess && amount('Vendido', 'vendido', ({ sold }) => sold.amount),
        isAny(sales.cancelled) && amount('Cancelado', 'cancelado', ({ cancelled }) => cancelled.amount),
        isAny(sales.returned) && amount('Devolvido', 'devolvido', ({ returned }) => returned.amount),
        amount(hasLess ? 'Líquido' : 'Valor', 'liquido', ({ net }) => net),
      ]}
    />
  )
}

interface LineProps {
  readonly of: string
  readonly sales: Reconciliation
}

/** The same in one line: `9 vendas, R$ 455,66 − 1 cancelada, R$ 132,95 = R$ 322,71`. */
export const ReconciliationLine = ({ of, sales }: LineProps) => {
  const { sold, cancelled, returned, net } = sales
  const amount = (name: string, value: string) => (
    <Figure name={name} of={of}>
      {formatMoney(value)}
    </Figure>
  )
  const count = (name: string, value: number) => (
    <Figure name={name} of={of}>
      {formatCount(value)}
    </Figure>
  )
  const words = (value: number, one: string, many: string) => (Math.abs(value) === 1 ? one : many)
  const hasLess = isAny(cancelled) || isAny(returned)
  return (
    <>
      {count('vendas', sold.count)} {words(sold.count, 'venda', 'vendas')}
      {hasLess && <>, {amount('vendido', sold.amount)}</>}
      {isAny(cancelled) && (
        <>
          {' − '}
          {count('canceladas', cancelled.count)} {words(cancelled.count, 'cancelada', 'canceladas')},{' '}
          {amount('cancelado', cancelled.amount)}
        </>
      )}
      {isAny(returned) && (
        <>
          {' − '}
          {count('devolucoes', returned.count)} {words(returned.count, 'devolução', 'devoluções')},{' '}
          {amount('devolvido', returned.amount)}
        </>
      )}
      {hasLess ? ' = ' : ', '}
      <strong>{amount('liquido', net)}</strong>
    </>
  )
}
