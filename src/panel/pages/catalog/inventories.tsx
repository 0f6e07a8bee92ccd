import { z } from 'zod'
import {
  COUNT_MODES,
  closeInventory,
  countInventory,
  OpenInventoryInput,
  openInventory,
} from '#commands/catalog/inventories.ts'
import { formatCount, formatDateTime, formatQuantity } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { StockQuantity, toThousandths } from '#domain/quantity.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { INVENTORY_STATUSES } from '#events/inventories.ts'
import { pathId } from '#http/paths.ts'
import { httpStatusOf } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { InventoryObject, InventoryStatus } from '#projections/inventories.ts'
import {
  getInventory,
  type InventoryCountObject,
  listInventoryCounts,
  searchInventories,
} from '#queries/catalog/inventories.ts'
import { type Fields, type FilledForm, filledFrom, filledWith, formText } from '../../forms/form.ts'
import { choiceInput, lineInput, namedOptions, paragraphInput, quantityInput } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../../route.ts'
import { amountCell, type FileColumn, listFile } from '../../ui/csv-file.ts'
import { ButtonForm, Form } from '../../ui/form.tsx'
import { buttonRoute, formPages, formRoute, runAndRedirect } from '../../ui/form-pages.tsx'
import { CardPager, type Column, FileLink, ListTable, recordsOnPage, searched } from '../../ui/list.tsx'
import { Card, PanelBadge, type Tone } from '../../ui/parts.tsx'
import { loadRecord, recordPages } from '../../ui/record-pages.tsx'

export const INVENTORIES_PATH = '/catalogo/inventarios'

const STATUSES: Readonly<Record<InventoryStatus, readonly [tone: Tone, text: string]>> = {
  open: ['info', 'Aberto'],
  applied: ['good', 'Aplicado ao estoque'],
  discarded: ['plain', 'Descartado'],
}

const Status = ({ status }: { readonly status: InventoryStatus }) => {
  const [tone, text] = STATUSES[status]
  return <PanelBadge tone={tone}>{text}</PanelBadge>
}

const statusOptions = INVENTORY_STATUSES.map((value) => ({ value, label: STATUSES[value][1] }))

const filters: Fields = { status: { label: 'Situação', kind: choiceInput(statusOptions, 'Todas'), columns: 6 } }

const Search = z.object({ status: z.enum(INVENTORY_STATUSES).optional(), cursor: z.string().max(2_000).optional() })

const MODES: Readonly<Record<(typeof COUNT_MODES)[number], string>> = {
  add: 'Somar ao que já foi contado',
  set: 'Substituir o que já foi contado',
}

const mode = { label: 'Se o produto já foi contado', kind: choiceInput(namedOptions(MODES)), isRequired: true } as const

/** One product, as a scanner reads it. */
const scanned: Fields = {
  code: { label: 'Código de barras ou externo', kind: lineInput, isRequired: true, columns: 6 },
  quantity: { label: 'Quantidade', kind: quantityInput, columns: 2, hint: 'Se vazio, conta 1.' },
  mode: { ...mode, columns: 4 },
}

/** Many products, typed or pasted from a collector. */
const typed: Fields = {
  lines: {
    label: 'Lista de contagem',
    kind: paragraphInput,
    isRequired: true,
    columns: 8,
    hint: 'Um produto por linha: código e quantidade, separados por ponto e vírgula, tabulação ou espaço. Só o código conta 1.',
  },
  mode: { ...mode, columns: 4 },
}

const ScannedForm = z.object({
  code: boundedText(100),
  quantity: StockQuantity.nullable(),
  mode: z.enum(COUNT_MODES),
})

const MOST_LINES = 500

const ListForm = z.object({ lines: z.string(), mode: z.enum(COUNT_MODES) })

interface TypedCount {
  readonly code: string
  readonly quantity: string
}

/** The counts of a typed list, or what is wrong with its lines. */
function countsIn(lines: string): readonly TypedCount[] | Refusal {
  const texts = lines.split('\n').map((line) => line.trim())
  const problems: string[] = []
  const counts = texts.flatMap((line, position): TypedCount[] => {
    if (line === '') return []
    const [, code = '', amount] = /^(\S+?)(?:\s*[;\t]\s*|\s+)(\S+)$/.exec(line) ?? [line, line]
    const quantity = amount === undefined ? '1' : String(quantityInput.read(amount, ''))
    if (code.length <= 100 && StockQuantity.safeParse(quantity).success) return [{ code, quantity }]
    problems.push(`linha ${position + 1}: escreva o código e uma quantidade como 1,5`)
    return []
  })
  if (counts.length > MOST_LINES) problems.push(`no máximo ${MOST_LINES} linhas: envie a lista em partes`)
  if (problems.length === 0 && counts.length > 0) return counts
  return refuse('validation_failed', {
    fields: { lines: problems.length > 0 ? problems.slice(0, 20) : [REQUIRED_FIELD] },
  })
}

/** A refusal about items of the command's list, said of the field that they were typed in. */
function ofField(refusal: Refusal, field: 'code' | 'lines', counts: readonly TypedCount[]): Refusal {
  const fields = (refusal.details?.fields ?? {}) as Record<string, string[]>
  const messages = Object.entries(fields).map(([name, told]) => {
    const position = Number(/^items\[(\d+)\]/.exec(name)?.[1] ?? Number.NaN)
    const code = counts[position]?.code
    return code === undefined || field === 'code' ? told.join('; ') : `${code}: ${told.join('; ')}`
  })
  return messages.length === 0
    ? refusal
    : refuse(refusal.refused, { fields: { [field]: messages.slice(0, 20) }, unknown_fields: [] })
}

const loadInventory = (visit: PageContext) =>
  loadRecord<InventoryObject>(visit, ({ readModel }, id) => getInventory(readModel.pool, readModel.companyId, id))

/** Counts of a page. */
const OF_PAGE = 100

const signed = (quantity: string): string =>
  quantity.startsWith('-') ? formatQuantity(quantity).replace('-', '−') : `+${formatQuantity(quantity)}`

const differenceOf = ({ difference, is_superseded }: InventoryCountObject) => {
  if (is_superseded) return <PanelBadge tone="plain">Contado de novo depois</PanelBadge>
  if (difference === null) return 'Não controlava estoque'
  const thousandths = toThousandths(difference)
  return thousandths === 0 ? (
    'Confere'
  ) : (
    <PanelBadge tone={thousandths < 0 ? 'bad' : 'warn'}>{signed(difference)}</PanelBadge>
  )
}

/** Sales of others since the counting count in the expected stock. */
const showsExpected = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

const EXPECTED: readonly Column<InventoryCountObject>[] = [
  { head: 'Esperado', cell: ({ expected }) => expected && formatQuantity(expected), isNumber: true, isExtra: true },
  { head: 'Diferença', cell: differenceOf, isNumber: true },
]

function countColumns(visit: PageContext, { id, status }: InventoryObject): Column<InventoryCountObject>[] {
  const takesOut = status === 'open' && visit.reaches('POST', `${INVENTORIES_PATH}/${id}/retirar`)
  return [
    { head: 'Produto', cell: ({ catalog_item_id, name }) => <a href={link(`/catalogo/${catalog_item_id}`)}>{name}</a> },
    {
      head: 'Contado',
      cell: ({ counted, unit }) => `${formatQuantity(counted)}${unit === null ? '' : ` ${unit}`}`,
      isNumber: true,
    },
    {
      head: 'Contado em',
      cell: ({ counted_at }) => formatDateTime(counted_at, visit.readModel.timezone),
      isExtra: true,
    },
    ...(showsExpected(visit) ? EXPECTED : []),
    ...(takesOut
      ? [
          {
            head: 'Retirar',
            cell: ({ catalog_item_id }: InventoryCountObject) => (
              <ButtonForm
                visit={visit}
                to={`${INVENTORIES_PATH}/${id}/retirar`}
                label="Retirar"
                values={{ item: String(catalog_item_id) }}
              />
            ),
            isExtra: true as const,
          },
        ]
      : []),
  ]
}

const pageOf = ({ readModel }: PageContext, inventory_id: number, more: { cursor?: string; limit: number }) =>
  listInventoryCounts(readModel.pool, readModel.companyId, { ...more, inventory_id })

/** What has been counted, and the differences so far (PANEL-533). */
async function CountsCard({ visit, inventory }: { readonly visit: PageContext; readonly inventory: InventoryObject }) {
  const { contagens: cursor } = visit.query
  const asked = await pageOf(visit, inventory.id, { limit: OF_PAGE, ...(cursor && { cursor }) })
  const page = isRefusal(asked) ? await pageOf(visit, inventory.id, { limit: OF_PAGE }) : asked
  return (
    <Card title="Contagens" id="contagens">
      <ListTable
        caption="Contagens"
        rows={recordsOnPage<InventoryCountObject>(page)}
        empty="Nada contado ainda."
        columns={countColumns(visit, inventory)}
      />
      <FileLink to={`${INVENTORIES_PATH}/${inventory.id}/contagens.csv`} parameters={{}} />
      <CardPager
        visit={visit}
        card="contagens"
        parameter="contagens"
        next={isRefusal(page) ? null : page.next}
        words={['Páginas das contagens', 'Primeiras', 'Próximas']}
      />
    </Card>
  )
}

interface CountingProps {
  readonly visit: PageContext
  readonly inventory: InventoryObject
  readonly filled?: { readonly scanned?: FilledForm; readonly typed?: FilledForm }
}

const CountingForms = ({ visit, inventory: { id }, filled = {} }: CountingProps) => {
  const begun = (fields: Fields) => filledFrom(fields, { mode: 'add' }, visit.readModel.timezone)
  return (
    <>
      <Card title="Contar um produto">
        <Form
          visit={visit}
          to={`${INVENTORIES_PATH}/${id}/contar`}
          label="Contar"
          fields={scanned}
          filled={filled.scanned ?? begun(scanned)}
        />
      </Card>
      <Card title="Contar por lista">
        <Form
          visit={visit}
          to={`${INVENTORIES_PATH}/${id}/lista`}
          label="Enviar lista"
          fields={typed}
          filled={filled.typed ?? begun(typed)}
        />
      </Card>
    </>
  )
}

const refusedPage = (
  submission: FormSubmission,
  inventory: InventoryObject,
  refusal: Refusal,
  part: 'scanned' | 'typed',
): PanelPage => {
  const filled = filledWith(part === 'scanned' ? scanned : typed, submission.form, refusal)
  return {
    title: inventory.name,
    parent: { label: 'Inventários', to: INVENTORIES_PATH },
    body: <CountingForms visit={submission} inventory={inventory} filled={{ [part]: filled }} />,
    status: httpStatusOf(refusal.refused),
  }
}

const done = ({ id }: InventoryObject) => ({ to: `${INVENTORIES_PATH}/${id}`, flash: 'contado' }) as const

const countOne = formRoute<InventoryObject, z.infer<typeof ScannedForm>>({
  path: `${INVENTORIES_PATH}/:id/contar`,
  section: 'catalog',
  access: 'adjust_stock',
  subject: loadInventory,
  fields: () => scanned,
  schema: ScannedForm,
  async act(submission, inventory, { code, quantity, mode }) {
    const count = { code, quantity: quantity ?? '1' }
    const answer = await runAndRedirect(
      submission,
      countInventory,
      { id: inventory.id, mode, items: [count] },
      done(inventory),
    )
    return isRefusal(answer) ? ofField(answer, 'code', [count]) : answer
  },
  again: (submission, inventory, refusal) => refusedPage(submission, inventory, refusal, 'scanned'),
})

const countList = formRoute<InventoryObject, z.infer<typeof ListForm>>({
  path: `${INVENTORIES_PATH}/:id/lista`,
  section: 'catalog',
  access: 'adjust_stock',
  subject: loadInventory,
  fields: () => typed,
  schema: ListForm,
  async act(submission, inventory, { lines, mode }) {
    const counts = countsIn(lines)
    if ('refused' in counts) return counts
    const answer = await runAndRedirect(
      submission,
      countInventory,
      { id: inventory.id, mode, items: [...counts] },
      done(inventory),
    )
    return isRefusal(answer) ? ofField(answer, 'lines', counts) : answer
  },
  again: (submission, inventory, refusal) => refusedPage(submission, inventory, refusal, 'typed'),
})

const takeOut = buttonRoute<InventoryObject>({
  path: `${INVENTORIES_PATH}/:id/retirar`,
  section: 'catalog',
  access: 'adjust_stock',
  subject: loadInventory,
  act(submission, inventory) {
    const catalog_item_id = pathId(formText(submission.form, 'item'))
    if (catalog_item_id === null) return Promise.resolve(null)
    const input = { id: inventory.id, mode: 'set' as const, items: [{ catalog_item_id, quantity: null }] }
    return runAndRedirect(submission, countInventory, input, done(inventory))
  },
})

const closing = (apply: boolean) =>
  formPages<InventoryObject, Record<string, never>>({
    path: `${INVENTORIES_PATH}/:id/${apply ? 'aplicar' : 'descartar'}`,
    section: 'catalog',
    access: 'adjust_stock',
    subject: loadInventory,
    title: ({ name }) => (apply ? `Aplicar ${name} ao estoque` : `Descartar ${name}`),
    obstacle: ({ status }) => (status === 'open' ? null : 'Este inventário já foi encerrado.'),
    before: ({ counted_items }) => (
      <p>
        {apply
          ? `O estoque de ${formatCount(counted_items)} produtos contados muda pela diferença entre a contagem e o estoque daquele momento. As vendas feitas depois da contagem continuam valendo. Espere os caixas enviarem as vendas feitas sem internet.`
          : 'As contagens ficam guardadas e o estoque não muda.'}
      </p>
    ),
    label: apply ? 'Aplicar ao estoque' : 'Descartar inventário',
    isDangerous: !apply,
    back: ({ id }) => `${INVENTORIES_PATH}/${id}`,
    fields: () => ({}),
    schema: z.object({}),
    act: (submission, { id }) =>
      runAndRedirect(
        submission,
        closeInventory,
        { id, apply },
        { to: `${INVENTORIES_PATH}/${id}`, flash: apply ? 'inventario-aplicado' : 'inventario-descartado' },
      ),
  })

const EXPECTED_IN_FILE: readonly FileColumn<InventoryCountObject>[] = [
  ['Esperado', ({ expected }) => amountCell(expected)],
  ['Diferença', ({ difference }) => amountCell(difference)],
]

const file = listFile<InventoryCountObject>({
  path: `${INVENTORIES_PATH}/:id/contagens`,
  section: 'catalog',
  filters: {},
  async page(visit, { cursor }, { limit }) {
    const id = pathId(visit.params.id)
    return pageOf(visit, id ?? 0, { limit, ...(cursor && { cursor }) })
  },
  columns: (visit) => [
    ['Produto', ({ name }) => name],
    ['Número do item', ({ catalog_item_id }) => String(catalog_item_id)],
    ['Unidade', ({ unit }) => unit],
    ['Contado', ({ counted }) => amountCell(counted)],
    ['Contado em', ({ counted_at }) => formatDateTime(counted_at, visit.readModel.timezone)],
    ...(showsExpected(visit) ? EXPECTED_IN_FILE : []),
  ],
})

export const inventoryPages: readonly PanelRoute[] = [
  ...recordPages<InventoryObject>({
    path: INVENTORIES_PATH,
    section: 'catalog',
    subject: 'inventory',
    editing: 'adjust_stock',
    words: { all: 'Inventários', create: 'Novo inventário', none: 'Nenhum inventário.' },
    list: {
      filters,
      columns: [
        { head: 'Inventário', cell: ({ id, name }) => <a href={link(`${INVENTORIES_PATH}/${id}`)}>{name}</a> },
        { head: 'Situação', cell: ({ status }) => <Status status={status} /> },
        { head: 'Produtos', cell: ({ counted_items }) => formatCount(counted_items), isNumber: true },
      ],
      page: ({ readModel }, asked, { limit }) =>
        searched(Search, asked, (search) =>
          searchInventories(readModel.pool, readModel.companyId, { ...search, limit }),
        ),
      file: ({ readModel }) => [
        ['Inventário', ({ name }) => name],
        ['Situação', ({ status }) => STATUSES[status][1]],
        ['Produtos', ({ counted_items }) => counted_items],
        ['Abertura', ({ created_at }) => formatDateTime(created_at, readModel.timezone)],
      ],
      more: [{ label: 'Catálogo', to: '/catalogo' }],
    },
    get: ({ readModel }, id) => getInventory(readModel.pool, readModel.companyId, id),
    nameOf: ({ name }) => name,
    facts: ({ status, counted_items, created_at, closed_at }, { readModel }) => [
      ['Situação', <Status key="status" status={status} />],
      ['Produtos contados', formatCount(counted_items)],
      ['Abertura', formatDateTime(created_at, readModel.timezone)],
      ['Encerramento', closed_at && formatDateTime(closed_at, readModel.timezone)],
    ],
    more: async (inventory, visit) =>
      visit.readModel.moment ? null : (
        <>
          {inventory.status === 'open' && <CountingForms visit={visit} inventory={inventory} />}
          {await CountsCard({ visit, inventory })}
        </>
      ),
    head: ({ id, status }) =>
      status === 'open'
        ? {
            main: { label: 'Aplicar ao estoque', to: `${INVENTORIES_PATH}/${id}/aplicar` },
            dangers: [{ label: 'Descartar', to: `${INVENTORIES_PATH}/${id}/descartar` }],
          }
        : {},
    fields: () => ({ name: { label: 'Nome', kind: lineInput, isRequired: true, hint: 'Ex.: Mercearia, novembro' } }),
    create: { schema: OpenInventoryInput, command: openInventory },
  }),
  file,
  countOne,
  countList,
  takeOut,
  ...closing(true),
  ...closing(false),
]
