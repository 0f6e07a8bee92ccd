import * as z from 'zod'
import { CreateItemInput, createItem } from '#commands/catalog/items.ts'
import { formatMoney } from '#domain/brazilian-format.ts'
import { ITEM_TAX_FIELDS } from '#domain/item-taxes.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { httpStatusOf } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { getItem, listItems } from '#queries/catalog/items.ts'
import { type Fields, type FilledForm, filledFrom, filledWith } from '../../forms/form.ts'
import { lineInput } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { FormSubmission, PageContext } from '../../route.ts'
import { Form } from '../../ui/form.tsx'
import { formRoute } from '../../ui/form-pages.tsx'
import { recordsOnPage } from '../../ui/list.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { Card } from '../../ui/parts.tsx'
import { loadRecord } from '../../ui/record-pages.tsx'
import { type Item, StockInfo } from './stock.tsx'

/** Variants that a page shows, and that one form creates. */
const MOST_VARIANTS = 100

const fields: Fields = {
  sizes: { label: 'Tamanhos', kind: lineInput, columns: 6, hint: 'Separados por vírgula. Ex.: P, M, G' },
  colors: { label: 'Cores', kind: lineInput, columns: 6, hint: 'Separadas por vírgula. Ex.: Azul, Preto' },
}

const VariantForm = z.object({ sizes: z.string().max(2_000).nullable(), colors: z.string().max(2_000).nullable() })

const valuesIn = (text: string | null): string[] => [
  ...new Set(
    (text ?? '')
      .split(',')
      .map((value) => value.trim())
      .filter(Boolean),
  ),
]

/** Size and colour of a variant, for people. */
export const variantText = ({ variant }: Pick<Item, 'variant'>): string | null =>
  variant && [variant.size, variant.color].filter(Boolean).join(' / ')

const pageOf = ({ readModel }: PageContext, parent_id: number) =>
  listItems(readModel.reader, { parent_id, limit: MOST_VARIANTS })

interface VariantsProps {
  readonly visit: PageContext
  readonly item: Item
  readonly filled?: FilledForm
}

/** Variants of a product, and the form that creates them; a variant has none. */
export async function VariantsCard({ visit, item, filled }: VariantsProps) {
  const { id, type, parent_id } = item
  if (type !== 'product' || parent_id !== null || visit.readModel.moment) return null
  const rows = recordsOnPage<Item>(await pageOf(visit, id))
  const to = `/catalogo/${id}/variacoes`
  if (rows.length === 0 && !visit.reaches('POST', to)) return null
  return (
    <Card title="Variações">
      <ListTable
        caption="Variações"
        rows={rows}
        empty="Nenhuma variação. Crie uma para cada tamanho e cor."
        columns={[
          { head: 'Variação', cell: (one) => <a href={link(`/catalogo/${one.id}`)}>{variantText(one)}</a> },
          { head: 'Código de barras', cell: ({ barcode }) => barcode, isExtra: true },
          { head: 'Preço', cell: ({ price }) => formatMoney(price), isNumber: true },
          { head: 'Estoque', cell: (one) => <StockInfo item={one} />, isNumber: true },
        ]}
      />
      <Form
        visit={visit}
        to={to}
        label="Criar variações"
        fields={fields}
        filled={filled ?? filledFrom(fields, {}, visit.readModel.timezone)}
      />
    </Card>
  )
}

interface VariantValues {
  readonly size: string | null
  readonly color: string | null
}

/** Every size in every colour. */
function combined(sizes: readonly string[], colors: readonly string[]): VariantValues[] {
  const orNone = (values: readonly string[]): readonly (string | null)[] => (values.length > 0 ? values : [null])
  return orNone(sizes).flatMap((size) => orNone(colors).map((color) => ({ size, color })))
}

/** A variant has the item's fields but its codes, and a stock of its own. The command adds the cost, which roles may not see. */
function variantOf(item: Item, variant: VariantValues): z.input<typeof CreateItemInput> {
  const { id, type, price, category_id, unit, ncm, cest } = item
  const taxes = Object.fromEntries(ITEM_TAX_FIELDS.map((field) => [field, item[field]]))
  const name = `${item.name} ${[variant.size, variant.color].filter(Boolean).join(' ')}`
  return { type, name, price, category_id, unit, ncm, cest, ...taxes, stock: '0', parent_id: id, variant }
}

/** Creates the missing variants; those that exist are left alone. */
async function create(
  submission: FormSubmission,
  item: Item,
  wanted: readonly VariantValues[],
): Promise<Refusal | null> {
  for (const variant of wanted) {
    const input = CreateItemInput.safeParse(variantOf(item, variant))
    if (!input.success) return invalid('sizes', input.error.issues[0]?.message ?? 'tem um valor inválido')
    const answer = await submission.run(createItem, input.data)
    if (isRefusal(answer) && answer.refused !== 'duplicate_resource') return answer
  }
  return null
}

export const variantForm = formRoute<Item, z.infer<typeof VariantForm>>({
  path: '/catalogo/:id/variacoes',
  section: 'catalog',
  access: 'edit_catalog',
  subject: (visit) => loadRecord<Item>(visit, ({ readModel }, id) => getItem(readModel.reader, id)),
  fields: () => fields,
  schema: VariantForm,
  async act(submission, item, { sizes, colors }) {
    const values = [valuesIn(sizes), valuesIn(colors)] as const
    const wanted = combined(...values)
    if (values.every(({ length }) => length === 0)) return invalid('sizes', 'informe ao menos um tamanho ou uma cor')
    if (wanted.length > MOST_VARIANTS) return invalid('sizes', `no máximo ${MOST_VARIANTS} variações por vez`)
    return (await create(submission, item, wanted)) ?? { to: `/catalogo/${item.id}`, flash: 'variacoes' }
  },
  again: async (submission, item, refusal) => ({
    title: item.name,
    parent: { label: 'Catálogo', to: '/catalogo' },
    body: await VariantsCard({ visit: submission, item, filled: filledWith(fields, submission.form, refusal) }),
    status: httpStatusOf(refusal.refused),
  }),
})
