import { z } from 'zod'
import type { ItemChanges } from '../../../../commands/catalog/item-input.ts'
import { updateItem } from '../../../../commands/catalog/update-item.ts'
import { getItem } from '../../../../queries/catalog/get-item.ts'
import { StockQuantity } from '../../../domain/quantity.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { dateTime, quantity as quantityText } from '../format.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import { choice, quantity } from '../forms/kinds.ts'
import type { Page, PanelRoute, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { Card, Facts } from '../ui/parts.tsx'
import { type Item, Stock } from '../ui/stock.tsx'
import { refusalMessage } from '../words/refusals.ts'
import { withRecord } from './record-pages.ts'

/** What can be done with a stock, by what is typed with it. */
const MOVEMENTS = {
  in: 'Entrada: somar ao estoque',
  out: 'Saída: tirar do estoque',
  count: 'Contagem: há exatamente esta quantidade',
  untrack: 'Deixar de controlar o estoque',
} as const

type Movement = keyof typeof MOVEMENTS

/** An untracked stock can only begin to be one. */
const movementsOf = ({ stock }: Item): Movement[] => (stock === null ? ['count'] : ['in', 'out', 'count', 'untrack'])

const fieldsOf = (item: Item): Fields => ({
  movement: {
    label: 'O que fazer',
    kind: choice(movementsOf(item).map((value) => ({ value, label: MOVEMENTS[value] }))),
    isRequired: true,
    columns: 6,
  },
  quantity: {
    label: item.unit ? `Quantidade (${item.unit})` : 'Quantidade',
    kind: quantity,
    columns: 3,
  },
})

/** An amount for all but the end of it; nothing is no movement. */
const StockForm = z
  .object({ movement: z.enum(Object.keys(MOVEMENTS) as Movement[]), quantity: StockQuantity.nullable() })
  .superRefine(({ movement, quantity: amount }, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', path: ['quantity'], message })
    if (movement === 'untrack') return
    if (amount === null) problem('é obrigatório')
    else if (movement !== 'count' && !/[1-9]/.test(amount)) problem('deve ser maior que zero')
  })
  .transform(({ movement, quantity: amount }): ItemChanges => {
    if (movement === 'untrack') return { stock: null }
    if (movement === 'count') return { stock: amount }
    return { stock_adjustment: `${movement === 'out' ? '-' : ''}${amount}` }
  })

interface StockProps {
  readonly visit: Visit
  readonly item: Item
  readonly filled?: Filled
}

/** What there is of a product, and the form that changes it; a service has none, and the past is as it was. */
export const StockCard = ({ visit, item, filled }: StockProps) =>
  item.type === 'service' || visit.books.moment ? null : (
    <Card title="Estoque">
      <Facts
        facts={[
          ['Quantidade', <Stock key="stock" item={item} />],
          ['Última movimentação', item.stock_updated_at && dateTime(item.stock_updated_at, visit.books.timezone)],
        ]}
      />
      <Form
        visit={visit}
        to={`/catalogo/${item.id}/estoque`}
        label="Alterar estoque"
        fields={fieldsOf(item)}
        filled={filled ?? filledFrom(fieldsOf(item), {}, visit.books.timezone)}
      />
    </Card>
  )

const refused = (visit: Visit, item: Item, filled: Filled, status: number): Page => ({
  title: `Estoque: ${item.name}`,
  body: <StockCard visit={visit} item={item} filled={filled} />,
  status,
})

async function move(submission: Submission, item: Item) {
  const { form, books } = submission
  const fields = fieldsOf(item)
  const parsed = checked(StockForm, fields, form, books.timezone)
  if ('filled' in parsed) return refused(submission, item, parsed.filled, 422)
  const answer = await submission.run(updateItem, { id: item.id, changes: parsed.input })
  if (!isRefusal(answer)) return { to: `/catalogo/${item.id}`, notice: 'estoque' } as const
  const filled = { ...filledWith(fields, form), ...problemOf(answer) }
  return refused(submission, item, filled, statusOf(answer.refused))
}

/** The command speaks of fields that the form does not have. */
function problemOf(refusal: Refusal): Pick<Filled, 'errors' | 'problem'> {
  const { available, fields } = (refusal.details ?? {}) as { available?: string; fields?: Record<string, string[]> }
  const messages = Object.values(fields ?? {}).flat()
  if (messages.length > 0) return { errors: { quantity: messages }, problem: 'Confira os campos indicados.' }
  const rest = available === undefined ? '' : ` Há ${quantityText(available)}.`
  return { errors: {}, problem: `${refusalMessage(refusal)}${rest}` }
}

const items = {
  get: ({ books }: Visit, id: number) => getItem(books.pool, books.companyId, id),
  nameOf: ({ name }: Item) => name,
}

export const stockPages: readonly PanelRoute[] = [
  {
    path: '/catalogo/:id/estoque',
    section: 'catalog',
    submit: (submission) => withRecord(items, submission, (item) => move(submission, item)),
  },
]
