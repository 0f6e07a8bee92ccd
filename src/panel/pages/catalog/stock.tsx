import * as z from 'zod'
import { updateItem } from '#commands/catalog/items.ts'
import { recordStockMovement, type StockMovementInput } from '#commands/catalog/stock-movements.ts'
import * as format from '#domain/brazilian-format.ts'
import { Money } from '#domain/money.ts'
import { may } from '#domain/permissions.ts'
import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { isBrokenPiece, StockQuantity, toThousandths } from '#domain/quantity.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { optionalText } from '#domain/text.ts'
import { httpStatusOf } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ItemObject } from '#projections/catalog.ts'
import { getItem } from '#queries/catalog/items.ts'
import type { StockCover } from '#queries/catalog/running-out.ts'
import { type Fields, type FilledForm, filledFrom, filledWith } from '../../forms/form.ts'
import { amountInput, choiceInput, lineInput, optionsOf, quantityInput, suggestedInput } from '../../forms/kinds.ts'
import type { FormSubmission, PageContext } from '../../route.ts'
import { Figure } from '../../ui/figure.tsx'
import { Form } from '../../ui/form.tsx'
import { formRoute } from '../../ui/form-pages.tsx'
import { Card, Facts, PanelBadge } from '../../ui/parts.tsx'
import { loadRecord } from '../../ui/record-pages.tsx'
import { refusalMessage } from '../../words/problems.ts'

/** A catalog item in the API's form. */
export type Item = ItemObject & { readonly category_name: string | null }

/** Stock of an item; an empty stock is marked. */
export const StockInfo = ({ item, of }: { readonly item: Pick<Item, 'stock' | 'unit'>; readonly of?: string }) => {
  const { stock, unit } = item
  if (stock === null) return <>Não controla estoque</>
  const thousandths = toThousandths(stock)
  if (thousandths === 0) return <PanelBadge tone="warn">Sem estoque</PanelBadge>
  const number = format.formatQuantity(stock)
  const amount = (
    <>
      {of ? (
        <Figure name="estoque" of={of}>
          {number}
        </Figure>
      ) : (
        number
      )}
      {unit && ` ${unit}`}
    </>
  )
  if (thousandths < 0) return <PanelBadge tone="bad">Negativo: {amount}</PanelBadge>
  return isBrokenPiece(unit, stock) ? <PanelBadge tone="warn">{amount} (não inteira)</PanelBadge> : amount
}

/** How long a stock lasts, for people. */
export function coverText({ days_of_stock: days, sold_30_days }: StockCover): string | null {
  if (days === null) return toThousandths(sold_30_days) === 0 ? 'Sem vendas em 30 dias' : null
  if (days === 0) return 'Menos de um dia'
  return days === 1 ? '1 dia' : `${format.formatCount(days)} dias`
}

/** Movements by the typed operation. */
const MOVEMENTS = {
  in: 'Entrada',
  out: 'Saída',
  loss: 'Perda',
  count: 'Inventário (definir quantidade)',
  untrack: 'Deixar de controlar o estoque',
} as const

type Movement = keyof typeof MOVEMENTS

const KINDS = { in: 'purchase', out: 'adjustment', loss: 'loss', count: 'count' } as const

/** Tracking of an untracked item starts with a count. */
const movementsOf = ({ stock }: Item): Movement[] =>
  stock === null ? ['count'] : ['in', 'out', 'loss', 'count', 'untrack']

const LOSS_REASONS = ['Quebra', 'Vencimento', 'Furto', 'Consumo próprio', 'Doação']

const fieldsOf = (item: Item, { session: { permissions } }: PageContext): Fields => ({
  movement: {
    label: 'Movimentação',
    kind: choiceInput(optionsOf(movementsOf(item), (movement) => MOVEMENTS[movement])),
    isRequired: true,
    columns: 6,
  },
  quantity: {
    label: item.unit ? `Quantidade (${item.unit})` : 'Quantidade',
    kind: quantityInput,
    columns: 3,
  },
  ...(may(permissions, 'see_costs') &&
    item.stock !== null && {
      unit_cost: {
        label: 'Custo unitário (R$)',
        kind: amountInput,
        columns: 3,
        hint: 'Só para entradas. Passa a ser o custo do item.',
      },
    }),
  document: { label: 'Documento', kind: lineInput, columns: 4, hint: 'Ex.: número da nota de compra.' },
  reason: { label: 'Motivo', kind: suggestedInput(LOSS_REASONS), columns: 8, hint: 'Obrigatório em uma perda.' },
})

type MovementForm = Omit<StockMovementInput, 'catalog_item_id'> | 'untrack'

/** A quantity is required except to end tracking; zero is no movement. */
const StockForm = z
  .object({
    movement: z.enum(Object.keys(MOVEMENTS) as Movement[]),
    quantity: StockQuantity.nullable(),
    unit_cost: Money.nullish(),
    document: optionalText(100),
    reason: optionalText(500),
  })
  .superRefine(({ movement, quantity: amount, unit_cost, reason }, context) => {
    const problem = (message: string, field = 'quantity') =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (movement === 'untrack') return
    if (amount === null) problem(REQUIRED_FIELD)
    else if (movement !== 'count' && !/[1-9]/.test(amount)) problem('deve ser maior que zero')
    if (movement === 'loss' && (reason ?? null) === null) problem('informe o motivo da perda', 'reason')
    if (movement !== 'in' && typeof unit_cost === 'string') problem('só vale para uma entrada', 'unit_cost')
  })
  .transform(({ movement, quantity: amount, ...details }): MovementForm => {
    if (movement === 'untrack') return 'untrack'
    const quantity = `${movement === 'out' ? '-' : ''}${amount}`
    return { ...details, kind: KINDS[movement], quantity }
  })

interface StockProps {
  readonly visit: PageContext
  readonly item: Item
  readonly filled?: FilledForm
  /** Absent if the form is shown again. */
  readonly cover?: StockCover | undefined
}

/** Stock of a product with the form that changes it. Services have none, and as-of pages have no form. */
export const StockCard = ({ visit, item, filled, cover }: StockProps) =>
  item.type === 'service' || visit.readModel.moment ? null : (
    <Card title="Estoque">
      <Facts
        facts={[
          ['Quantidade', <StockInfo key="stock" item={item} of={`item/${item.id}`} />],
          ['Estoque mínimo', item.min_stock && format.formatQuantity(item.min_stock)],
          [
            'Vendido em 30 dias',
            cover && (
              <Figure name="vendido-30-dias" of={`item/${item.id}`}>
                {format.formatQuantity(cover.sold_30_days)}
              </Figure>
            ),
          ],
          ['O estoque dura', cover && coverText(cover)],
          [
            'Última movimentação',
            item.stock_updated_at && format.formatDateTime(item.stock_updated_at, visit.readModel.timezone),
          ],
        ]}
      />
      <Form
        visit={visit}
        to={`/catalogo/${item.id}/estoque`}
        label="Alterar estoque"
        fields={fieldsOf(item, visit)}
        filled={filled ?? filledFrom(fieldsOf(item, visit), {}, visit.readModel.timezone)}
      />
    </Card>
  )

/** Moves a refusal about other fields to the quantity. */
function ofQuantity(refusal: Refusal): Refusal {
  const messages = Object.values((refusal.details?.fields ?? {}) as Record<string, string[]>).flat()
  return messages.length === 0 ? refusal : refuse(refusal.refused, { fields: { quantity: messages } })
}

/** The refused form; for insufficient stock with the available quantity. */
function again(submission: FormSubmission, item: Item, refusal: Refusal): FilledForm {
  const filled = filledWith(fieldsOf(item, submission), submission.form, refusal)
  const available = refusal.details?.available
  if (typeof available !== 'string') return filled
  return { ...filled, problem: `${refusalMessage(refusal)} Há ${format.formatQuantity(available)}.` }
}

/** Handles the stock form of an item's page. */
export const stockForm = formRoute<Item, MovementForm>({
  path: '/catalogo/:id/estoque',
  section: 'catalog',
  access: 'adjust_stock',
  subject: (visit) => loadRecord<Item>(visit, ({ readModel }, id) => getItem(readModel.reader, id)),
  fields: fieldsOf,
  schema: StockForm,
  async act(submission, { id }, movement) {
    const answer =
      movement === 'untrack'
        ? await submission.run(updateItem, { id, changes: { stock: null } })
        : await submission.run(recordStockMovement, { ...movement, catalog_item_id: id })
    return isRefusal(answer) ? ofQuantity(answer) : { to: `/catalogo/${id}`, flash: 'estoque' }
  },
  again: (submission, item, refusal) => ({
    title: `Estoque de ${item.name}`,
    body: <StockCard visit={submission} item={item} filled={again(submission, item, refusal)} />,
    status: httpStatusOf(refusal.refused),
  }),
})
