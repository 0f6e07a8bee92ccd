import * as z from 'zod'
import { deleteItemPicture, setItemPicture } from '#commands/catalog-commands.ts'
import { CreateItemInput, createItem } from '#commands/item-commands.ts'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { fromCents, toCents, toDecimal } from '#domain/money.ts'
import { formatMoney, formatPercentage } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { nameKey } from '#domain/text.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { getItem, listItems } from '#queries/item-queries.ts'
import { lineInput } from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody, fillFromRecord } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormRoute, FormSubmission, PageContext } from '../panel-route.ts'
import { Form } from '../ui/form-fields.tsx'
import { buttonRoute, formRoute, runAndRedirect } from '../ui/form-pages.tsx'
import { Card, FoldedCard, PanelBadge } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { PictureForm, PictureProblem, uploadPicture } from '../ui/picture-form.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { type Item, StockInfo } from './stock-pages.tsx'

type Priced = Pick<Item, 'price' | 'cost'>

/** Price of an item; one that loses money is marked, its cost only for roles that see costs. */
export const PriceInfo = ({
  item: { price, cost },
  seesCosts,
}: {
  readonly item: Priced
  readonly seesCosts: boolean
}) => {
  const problem = priceProblem(price, seesCosts ? cost : null)
  return problem === null ? (
    formatMoney(price)
  ) : (
    <PanelBadge tone="warn">{`${formatMoney(price)}: ${problem}`}</PanelBadge>
  )
}

function priceProblem(price: string, cost: string | null): string | null {
  if (toCents(price) === 0) return 'preço zerado'
  return cost !== null && toCents(price) < toCents(cost) ? 'abaixo do custo' : null
}

/** Part of the price that is not cost; null without a cost or a price. */
export function marginText({ price, cost }: Priced): string | null {
  const cents = toCents(price)
  if (cost === null || cents === 0) return null
  const margin = cents - toCents(cost)
  return `${formatMoney(fromCents(margin))} (${marginShare(margin, cents)})`
}

function marginShare(margin: number, cents: number): string {
  // A price of 0.01 has a margin of more hundredths of a percent than a number holds.
  const hundredths = BigInt(Math.round((margin * 10_000) / cents))
  return formatPercentage(toDecimal(hundredths, 2))
}

/** Margin of two prices of an item: `30,00% → 33,33%`. */
export function marginChange(before: string, after: string, cost: string | null): string | null {
  if (cost === null) return null
  const shares = [before, after].map((price) => {
    const cents = toCents(price)
    return cents === 0 ? '—' : marginShare(cents - toCents(cost), cents)
  })
  return shares.join(' → ')
}

const pathOf = (id: number): string => `/catalogo/${id}/imagem`

interface PictureProps {
  readonly visit: PageContext
  readonly item: Item
  readonly refusal?: Refusal
}

/** In a list, with a box of its size where an item has none. */
export const SmallPicture = ({ item: { name, picture_url } }: Pick<PictureProps, 'item'>) =>
  picture_url === null ? (
    <span class="thumb" />
  ) : (
    <img class="thumb" src={picture_url} alt={`Imagem de ${name}`} width="36" height="36" loading="lazy" />
  )

export const ProductPicture = ({ item: { name, picture_url } }: Pick<PictureProps, 'item'>) =>
  picture_url && <img class="picture" src={picture_url} alt={`Imagem de ${name}`} height="144" />

/** Forms that change the picture of an item; they open by a refusal. */
export const PictureCard = ({ visit, item: { id, picture_url }, refusal }: PictureProps) => {
  if (visit.readModel.moment || !visit.reaches('POST', pathOf(id))) return null
  const Box = refusal ? Card : FoldedCard
  return (
    <Box title="Imagem">
      {refusal && <PictureProblem what="A imagem" refusal={refusal} />}
      <PictureForm
        visit={visit}
        to={pathOf(id)}
        noun="imagem"
        hint="Aparece no catálogo e nos caixas."
        hasPicture={picture_url !== null}
      />
    </Box>
  )
}

const loadItem = (visit: PageContext) => loadRecord<Item>(visit, ({ readModel }, id) => getItem(readModel.reader, id))

async function upload(submission: FormSubmission) {
  const item = await loadItem(submission)
  if (item === null) return null
  return uploadPicture(submission, {
    set: (content) =>
      runAndRedirect(
        submission,
        setItemPicture,
        { id: item.id, content },
        { to: `/catalogo/${item.id}`, flash: 'imagem' },
      ),
    refused: (refusal) => ({
      title: item.name,
      parent: { label: 'Catálogo', to: '/catalogo' },
      body: <PictureCard visit={submission} item={item} refusal={refusal} />,
    }),
  })
}

export const pictureForms: readonly FormRoute[] = [
  { path: '/catalogo/:id/imagem', section: 'catalog', access: 'edit_catalog', takesFile: true, submit: upload },
  buttonRoute<Item>({
    path: '/catalogo/:id/imagem/excluir',
    section: 'catalog',
    access: 'edit_catalog',
    subject: loadItem,
    act: (submission, { id }) =>
      runAndRedirect(submission, deleteItemPicture, { id }, { to: `/catalogo/${id}`, flash: 'imagem-excluida' }),
  }),
]

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

/** Values of a size or colour by their key, in the order of the variants; those that differ by case are one. */
function valuesOf(variants: readonly Item[], part: keyof VariantValues): Map<string, string> {
  const values = new Map<string, string>()
  for (const { variant } of variants) {
    const value = variant?.[part] ?? ''
    if (!values.has(nameKey(value))) values.set(nameKey(value), value)
  }
  return values
}

/** Colours down, sizes across; of sizes alone a size a row. Each cell leads to its variant. */
const VariantGrid = ({ variants }: { readonly variants: readonly Item[] }) => {
  const hasColors = variants.some(({ variant }) => variant?.color)
  const [down, across] = hasColors ? (['color', 'size'] as const) : (['size', 'color'] as const)
  const key = ({ variant }: Item, part: keyof VariantValues) => nameKey(variant?.[part] ?? '')
  const [rows, columns] = [valuesOf(variants, down), valuesOf(variants, across)]
  const cells = new Map(variants.map((one) => [`${key(one, down)}\n${key(one, across)}`, one]))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" aria-label="Variações" tabIndex={0}>
      <table class="grid">
        <caption class="hidden">Estoque e preço de cada variação</caption>
        <thead>
          <tr>
            <th scope="col">{hasColors ? 'Cor' : 'Tamanho'}</th>
            {[...columns].map(([column, value]) => (
              <th key={column} scope="col">
                {value || (hasColors ? 'Sem tamanho' : 'Estoque e preço')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...rows].map(([row, value]) => (
            <tr key={row}>
              <th scope="row">{value || 'Sem cor'}</th>
              {[...columns.keys()].map((column) => (
                <td key={column}>
                  <VariantCell variant={cells.get(`${row}\n${column}`)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const VariantCell = ({ variant }: { readonly variant: Item | undefined }) =>
  variant ? (
    <a class="cell" href={link(`/catalogo/${variant.id}`)}>
      <span class="hidden">{`${variantText(variant)}: `}</span>
      <StockInfo item={variant} />
      <br />
      <small class="hint">{formatMoney(variant.price)}</small>
    </a>
  ) : (
    <span class="hint">—</span>
  )

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
      {rows.length === 0 ? (
        <p class="empty">Nenhuma variação. Crie uma para cada tamanho e cor.</p>
      ) : (
        <VariantGrid variants={rows} />
      )}
      <Form
        visit={visit}
        to={to}
        label="Criar variações"
        isFolded
        fields={fields}
        filled={filled ?? fillFromRecord(fields, {}, visit.readModel.timezone)}
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
    if (!input.success) return refuseField('sizes', input.error.issues[0]?.message ?? 'tem um valor inválido')
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
    if (values.every(({ length }) => length === 0))
      return refuseField('sizes', 'informe ao menos um tamanho ou uma cor')
    if (wanted.length > MOST_VARIANTS) return refuseField('sizes', `no máximo ${MOST_VARIANTS} variações por vez`)
    return (await create(submission, item, wanted)) ?? { to: `/catalogo/${item.id}`, flash: 'variacoes' }
  },
  again: async (submission, item, refusal) => ({
    title: item.name,
    parent: { label: 'Catálogo', to: '/catalogo' },
    body: await VariantsCard({ visit: submission, item, filled: fillFromBody(fields, submission.form, refusal) }),
    status: toHttpStatus(refusal.refused),
  }),
})
