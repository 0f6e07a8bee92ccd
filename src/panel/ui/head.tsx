import { formatMoney, formatPersonName, formatQuantity } from '#domain/person-values.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext, PanelPage } from '../panel-route.ts'
import { ButtonForm } from './form-fields.tsx'
import { ButtonLink, Card, Facts, Icon } from './page-parts.tsx'
import { ListTable } from './panel-list.tsx'

interface CancelledProps {
  /** Label and value of the relevant time. */
  readonly when: readonly [name: string, time: string]
  readonly of: {
    readonly customer: { readonly name: string | null } | null
    readonly items: readonly { readonly description: string; readonly quantity: string; readonly total: string }[]
    readonly total: string
  }
}

/** Details of the record to be cancelled, so that users notice a wrong choice before it is final. */
export const Cancelled = ({ when, of: { customer, items, total } }: CancelledProps) => (
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
        { head: 'Quantidade', cell: (item) => formatQuantity(item.quantity), isNumber: true },
        { head: 'Total', cell: (item) => formatMoney(item.total), isNumber: true },
      ]}
    />
  </Card>
)

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
