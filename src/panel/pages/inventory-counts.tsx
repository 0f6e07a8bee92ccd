import * as z from 'zod'
import { COUNT_MODES, countInventory, UNKNOWN_ITEM } from '#commands/stock-commands.ts'
import { StockQuantity, toThousandths } from '#domain/money.ts'
import { formatDateTime, formatSigned, formatUnits } from '#domain/person-values.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { may } from '#domain/rights.ts'
import { boundedText, REQUIRED_FIELD } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { InventoryObject } from '#projections/stock.ts'
import { findLastCount, getInventory, type InventoryCountObject, listInventoryCounts } from '#queries/stock-queries.ts'
import { amountCell, type FileColumn, listFile } from '../csv-files.ts'
import { choiceInput, lineInput, namedOptions, paragraphInput, quantityInput } from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody, fillFromRecord, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage } from '../panel-route.ts'
import { ButtonForm, Form } from '../ui/form-fields.tsx'
import { buttonRoute, formRoute, runAndRedirect } from '../ui/form-pages.tsx'
import { type Column, ListTable, type OptionalColumn } from '../ui/list-table.tsx'
import { Card, PanelBadge } from '../ui/page-parts.tsx'
import { CardPager, FileLink, recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'

export const INVENTORIES_PATH = '/catalogo/inventarios'

export const loadInventory = (visit: PageContext) =>
  loadRecord<InventoryObject>(visit, ({ readModel }, id) => getInventory(readModel.reader, id))

const MODES: Readonly<Record<(typeof COUNT_MODES)[number], string>> = {
  add: 'Somar ao que já foi contado',
  set: 'Substituir o que já foi contado',
}

const mode = { label: 'Se o produto já foi contado', kind: choiceInput(namedOptions(MODES)), isRequired: true } as const

/** One product, as a scanner reads it. */
const scanned: Fields = {
  code: { label: 'Código de barras ou externo', kind: lineInput, isRequired: true, columns: 6, scans: 'send' },
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
/** A code, a quantity and blanks. */
const MAX_COUNT_LENGTH = 300

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
    const isShort = line.length <= MAX_COUNT_LENGTH
    const [, code = '', amount] = (isShort && /^(\S+?)(?:\s*[;\t]\s*|\s+)(\S+)$/.exec(line)) || [line, line]
    const quantity = amount === undefined ? '1' : String(quantityInput.read(amount, ''))
    if (isShort && code.length <= 100 && StockQuantity.safeParse(quantity).success) return [{ code, quantity }]
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

/** Counts of a page. */
const OF_PAGE = 100

const differenceOf = ({ difference, is_superseded, unit }: InventoryCountObject) => {
  if (is_superseded) return <PanelBadge tone="plain">Contado de novo depois</PanelBadge>
  if (difference === null) return 'Não controlava estoque'
  const thousandths = toThousandths(difference)
  return thousandths === 0 ? (
    'Confere'
  ) : (
    <PanelBadge tone={thousandths < 0 ? 'bad' : 'warn'}>{formatSigned(difference, unit)}</PanelBadge>
  )
}

/** Sales of others since the counting count in the expected stock. */
const showsExpected = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

const EXPECTED: readonly Column<InventoryCountObject>[] = [
  {
    head: 'Esperado',
    cell: ({ expected, unit }) => expected && formatUnits(expected, unit),
    isNumber: true,
    isExtra: true,
  },
  { head: 'Diferença', cell: differenceOf, isNumber: true },
]

function countColumns(visit: PageContext, { id, status }: InventoryObject): OptionalColumn<InventoryCountObject>[] {
  const takesOut = status === 'open' && visit.reaches('POST', `${INVENTORIES_PATH}/${id}/retirar`)
  return [
    { head: 'Produto', cell: ({ catalog_item_id, name }) => <a href={link(`/catalogo/${catalog_item_id}`)}>{name}</a> },
    {
      head: 'Contado',
      cell: ({ counted, unit }) => formatUnits(counted, unit),
      isNumber: true,
    },
    {
      head: 'Contado em',
      cell: ({ counted_at }) => formatDateTime(counted_at, visit.readModel.timezone),
      isExtra: true,
    },
    ...(showsExpected(visit) ? EXPECTED : []),
    takesOut && {
      head: 'Retirar',
      cell: ({ catalog_item_id }) => (
        <ButtonForm
          visit={visit}
          to={`${INVENTORIES_PATH}/${id}/retirar`}
          label="Retirar"
          values={{ item: String(catalog_item_id) }}
        />
      ),
      isExtra: true,
    },
  ]
}

const pageOf = ({ readModel }: PageContext, inventory_id: number, more: { cursor?: string; limit: number }) =>
  listInventoryCounts(readModel.reader, { ...more, inventory_id })

/** What has been counted, and the differences so far. */
export async function CountsCard({
  visit,
  inventory,
}: {
  readonly visit: PageContext
  readonly inventory: InventoryObject
}) {
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

/** Codes that were scanned and are in no catalog: they go with the form, the newest last. */
const UNKNOWN = 'desconhecidos'
const MOST_UNKNOWN = 20

/** Codes in the form, or in the address after a count. */
function unknownIn(visit: PageContext | FormSubmission): string[] {
  const text = 'form' in visit ? formText(visit.form, UNKNOWN) : (visit.query[UNKNOWN] ?? '')
  return text
    .split('\n')
    .filter((code) => code !== '' && code.length <= 100)
    .slice(-MOST_UNKNOWN)
}

const UnknownCodes = ({ codes }: { readonly codes: readonly string[] }) => (
  <div class="problem" role="alert" data-beep>
    <p>
      <strong>Códigos fora do catálogo, não contados:</strong>
    </p>
    <ul>
      {codes.map((code) => (
        <li key={code}>
          <code>{code}</code>
        </li>
      ))}
    </ul>
  </div>
)

/** The product that was counted last, and how much of it. */
async function LastCount({ visit, inventory }: Pick<CountingProps, 'visit' | 'inventory'>) {
  const page = await findLastCount(visit.readModel.reader, inventory.id)
  const [last] = recordsOnPage<InventoryCountObject>(page)
  return last === undefined ? null : (
    <p role="status">
      {'Última contagem: '}
      <strong>{last.name}</strong>
      {`, total ${formatUnits(last.counted, last.unit)}.`}
    </p>
  )
}

interface CountingProps {
  readonly visit: PageContext
  readonly inventory: InventoryObject
  readonly filled?: { readonly scanned?: FilledForm; readonly typed?: FilledForm }
}

export async function CountingForms({ visit, inventory, filled = {} }: CountingProps) {
  const { id } = inventory
  const begun = (fields: Fields) => fillFromRecord(fields, { mode: 'add' }, visit.readModel.timezone)
  const unknown = unknownIn(visit)
  const refused = filled.scanned && isUnknown(filled.scanned) ? filled.scanned.values.code : undefined
  const codes = [...new Set([...unknown, ...(refused ?? [])])].slice(-MOST_UNKNOWN)
  return (
    <>
      <Card title="Contar um produto">
        {await LastCount({ visit, inventory })}
        {codes.length > 0 && <UnknownCodes codes={codes} />}
        <Form
          visit={visit}
          to={`${INVENTORIES_PATH}/${id}/contar`}
          label="Contar"
          fields={scanned}
          filled={filled.scanned === undefined ? begun(scanned) : withoutUnknown(filled.scanned)}
        >
          <input type="hidden" name={UNKNOWN} value={codes.join('\n')} />
        </Form>
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

const isUnknown = ({ errors }: FilledForm): boolean => (errors.code ?? []).some((text) => text.includes(UNKNOWN_ITEM))

/** The next scan begins with an empty field: an unknown code is listed beside it. */
const withoutUnknown = (filled: FilledForm): FilledForm =>
  isUnknown(filled) ? { ...filled, values: { ...filled.values, code: [''] } } : filled

const refusedPage = async (
  submission: FormSubmission,
  inventory: InventoryObject,
  refusal: Refusal,
  part: 'scanned' | 'typed',
): Promise<PanelPage> => {
  const filled = fillFromBody(part === 'scanned' ? scanned : typed, submission.form, refusal)
  return {
    title: inventory.name,
    parent: { label: 'Inventários', to: INVENTORIES_PATH },
    body: await CountingForms({ visit: submission, inventory, filled: { [part]: filled } }),
    status: toHttpStatus(refusal.refused),
  }
}

const done = ({ id }: InventoryObject, unknown: readonly string[] = []) =>
  ({
    to: `${INVENTORIES_PATH}/${id}`,
    flash: 'contado',
    ...(unknown.length > 0 && { parameters: { [UNKNOWN]: unknown.join('\n') } }),
  }) as const

export const countOne = formRoute<InventoryObject, z.infer<typeof ScannedForm>>({
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
      done(inventory, unknownIn(submission)),
    )
    return isRefusal(answer) ? ofField(answer, 'code', [count]) : answer
  },
  again: (submission, inventory, refusal) => refusedPage(submission, inventory, refusal, 'scanned'),
})

export const countList = formRoute<InventoryObject, z.infer<typeof ListForm>>({
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

export const takeOut = buttonRoute<InventoryObject>({
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

const EXPECTED_IN_FILE: readonly FileColumn<InventoryCountObject>[] = [
  ['Esperado', ({ expected }) => amountCell(expected)],
  ['Diferença', ({ difference }) => amountCell(difference)],
]

export const countsFile = listFile<InventoryCountObject>({
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
