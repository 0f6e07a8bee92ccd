import * as z from 'zod'
import { MAX_RECEIPT_BILLS, type ReceiveGoodsInput, receiveGoods, undoGoodsReceipt } from '#commands/receive-goods.ts'
import { CalendarDate } from '#domain/instant.ts'
import { Money, StockQuantity, toCents } from '#domain/money.ts'
import { instalmentAmounts, instalmentDates } from '#domain/payment-rules.ts'
import { formatDateTime, formatDay, formatMoney, formatPersonName, formatUnits } from '#domain/person-values.ts'
import { formatDocumentNumber, parseDocumentNumber, sumLineCosts } from '#domain/prices.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { Id, optionalText, REQUIRED_FIELD } from '#domain/text.ts'
import { getAccount, listAccounts, payableListing } from '#queries/account-queries.ts'
import {
  getGoodsReceipt,
  type ListedReceipt,
  listGoodsReceipts,
  type ShownReceipt,
} from '#queries/goods-receipt-queries.ts'
import { findUnits, unitIn } from '#queries/item-queries.ts'
import { PositiveMoney } from '#records/accounts.ts'
import { amountCell } from '../csv-files.ts'
import { amountInput, dateInput, integerInput, lineInput, quantityInput } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { link, permissionsFor } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { namesOfSubjects } from '../record-history.tsx'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card } from '../ui/page-parts.tsx'
import { listFiltered, recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord, recordPages } from '../ui/record-pages.tsx'
import { type Account, AccountBadge } from './account-parts.tsx'
import { SEARCHED_SUPPLIER } from './debtor-pages.tsx'
import { itemField } from './item-pages.tsx'
import { NFE_PATH, nfePages, RECEIPTS_PATH, RECEIVING } from './nfe-pages.tsx'
import { partyField } from './person-form.tsx'
import { namesText } from './price-change-pages.tsx'

/** Lines of an entry by hand; those after the first ones are folded. */
const [MOST_LINES, OPEN_LINES] = [40, 6]
const MORE = 'Mais produtos'
const BILLS = 'Contas a pagar'

const sentText = (visit: PageContext, name: string): string =>
  'form' in visit ? formText((visit as FormSubmission).form, name).trim() : ''

async function lineFields(visit: PageContext, at: number): Promise<Fields> {
  const fold = at < OPEN_LINES ? {} : { fold: MORE }
  const typed = sentText(visit, `lines.${at}.item`)
  const item = await itemField(visit, { label: `Produto ${at + 1}`, columns: 6, current: null, typed })
  return {
    [`lines.${at}.item`]: { ...item, scans: 'fill', ...fold },
    [`lines.${at}.quantity`]: { label: `Quantidade ${at + 1}`, kind: quantityInput, columns: 3, ...fold },
    [`lines.${at}.unit_cost`]: { label: `Custo unitário ${at + 1} (R$)`, kind: amountInput, columns: 3, ...fold },
  }
}

async function fieldsOf(visit: PageContext): Promise<Fields> {
  let fields: Fields = {
    supplier_id: await partyField(visit, SEARCHED_SUPPLIER, { path: `${RECEIPTS_PATH}/novo` }),
    reference: {
      label: 'Documento',
      kind: lineInput,
      columns: 6,
      hint: 'Ex.: número do pedido ou da nota (opcional).',
    },
  }
  for (let at = 0; at < MOST_LINES; at += 1) fields = Object.assign(fields, await lineFields(visit, at))
  return {
    ...fields,
    'bills.count': {
      label: 'Parcelas',
      kind: integerInput,
      columns: 3,
      group: BILLS,
      hint: 'Se vazio, nenhuma conta.',
    },
    'bills.first_due_date': { label: 'Primeiro vencimento', kind: dateInput, columns: 3 },
    'bills.interval': { label: 'Dias entre parcelas', kind: integerInput, columns: 3, hint: 'Se vazio, um mês.' },
    'bills.amount': {
      label: 'Valor a pagar (R$)',
      kind: amountInput,
      columns: 3,
      hint: 'Se vazio, o custo dos produtos.',
    },
  }
}

const HandLine = z.object({ item: Id.nullish(), quantity: StockQuantity.nullish(), unit_cost: Money.nullish() })
type HandLine = z.infer<typeof HandLine>

/** What is typed, as the command takes it. */
const HandReceipt = z
  .object({
    supplier_id: Id.nullish(),
    reference: optionalText(100),
    lines: z.record(z.string(), HandLine.nullable()).nullish(),
    bills: z
      .object({
        count: z.int().min(1).max(MAX_RECEIPT_BILLS).nullish(),
        first_due_date: CalendarDate.nullish(),
        interval: z.int().min(1).max(365).nullish(),
        amount: PositiveMoney.nullish(),
      })
      .nullish(),
  })
  .transform(({ supplier_id, reference, lines: typed, bills }, context): ReceiveGoodsInput => {
    const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    const lines = Object.entries(typed ?? {}).flatMap(([at, line]) => {
      if (line === null) return []
      for (const name of ['item', 'quantity', 'unit_cost'] as const)
        if ((line[name] ?? null) === null) problem(['lines', at, name], REQUIRED_FIELD)
      if (line.quantity && !/[1-9]/.test(line.quantity)) problem(['lines', at, 'quantity'], 'deve ser maior que zero')
      return [toReceiptLine(line)]
    })
    if (lines.length === 0) problem(['lines', '0', 'item'], 'informe ao menos um produto')
    const total = bills?.amount ?? sumLineCosts(lines.map(({ cost }) => parseDocumentNumber(cost) ?? 0n))
    const { count = null, first_due_date = null, interval = null } = bills ?? {}
    const isBilled = count !== null || first_due_date !== null || (bills?.amount ?? null) !== null
    if (isBilled && first_due_date === null) problem(['bills', 'first_due_date'], REQUIRED_FIELD)
    const parts = count ?? 1
    if (isBilled && toCents(total) < parts) problem(['bills', 'amount'], 'cada parcela deve ter ao menos R$ 0,01')
    const dates = isBilled && first_due_date ? instalmentDates(first_due_date, parts, interval ?? 'month') : []
    const amounts = instalmentAmounts(total, parts)
    return {
      ...{ supplier: supplier_id ? { id: supplier_id } : null, reference, new_items: [], lines },
      bills: dates.map((due_date, at) => ({ due_date, amount: amounts[at] as string })),
    }
  })

/** The cost of a line has up to five decimals, so that its unit costs what was typed. */
function toReceiptLine({ item, quantity, unit_cost }: HandLine): ReceiveGoodsInput['lines'][number] {
  const [units, cost] = [quantity, unit_cost].map((text) => parseDocumentNumber(text ?? '0') ?? 0n) as [bigint, bigint]
  const total = formatDocumentNumber((units * cost) / 10_000_000_000n)
  return { catalog_item_id: item ?? null, quantity: quantity ?? '0', factor: '1', cost: total }
}

const supplierCell = ({ supplier_id, supplier_name }: ListedReceipt) =>
  supplier_id === null ? null : <a href={link(`/fornecedores/${supplier_id}`)}>{formatPersonName(supplier_name)}</a>

const nameOf = ({ id, reference }: ListedReceipt): string =>
  `Entrada ${id}${reference === null ? '' : `: ${reference}`}`

/** Accounts to pay that were made with it; those that were deleted since are absent. */
async function billsOf({ readModel }: PageContext, ids: readonly number[]): Promise<Account[]> {
  const { reader, today } = readModel
  const [first] = ids
  if (first === undefined) return []
  if (ids.length > 1)
    return recordsOnPage<Account>(
      await listAccounts(reader, payableListing, { limit: MAX_RECEIPT_BILLS, installment_group: first }, today),
    )
  const { record } = await getAccount(reader, payableListing, first, today)
  return record ? [JSON.parse(record) as Account] : []
}

const subjectOf = ({ catalog_item_id }: { readonly catalog_item_id: number }) => `catalog_item/${catalog_item_id}`

/** Names of items. */
const namesOfItems = (visit: PageContext, items: readonly { readonly catalog_item_id: number }[]) =>
  namesOfSubjects(
    visit.readModel,
    items.map((item) => ({ subject: subjectOf(item) })),
  )

interface ReceiptProps {
  readonly visit: PageContext
  readonly receipt: ShownReceipt
}

/** What its undoing did not change. */
async function Undone({ visit, receipt: { undone_at, costs, left } }: ReceiptProps) {
  if (undone_at === null) return null
  const kept = costs.filter(({ catalog_item_id }) => left.includes(catalog_item_id))
  const names = await namesOfItems(visit, kept)
  const texts = kept.map(
    (item) =>
      `${names(subjectOf(item))}${item.former_cost ? ` (antes da entrada, ${formatMoney(item.former_cost)})` : ''}`,
  )
  return (
    <Alert>
      {`Entrada desfeita em ${formatDateTime(undone_at, visit.readModel.timezone)}.`}
      {kept.length > 0 &&
        ` O custo ficou como está, porque mudou depois ou o produto foi desativado: ${namesText(texts)}.`}
    </Alert>
  )
}

/** Goods, and accounts to pay for them. */
async function Content({ visit, receipt }: ReceiptProps) {
  const { lines, payable_ids } = receipt
  const [names, units] = [await namesOfItems(visit, lines), await findUnits(visit.readModel.reader, lines)]
  return (
    <>
      <Card title="Produtos">
        <ListTable
          caption="Produtos"
          rows={lines}
          empty="Nenhum produto."
          columns={[
            {
              head: 'Produto',
              cell: (line) => <a href={link(`/catalogo/${line.catalog_item_id}`)}>{names(subjectOf(line))}</a>,
            },
            { head: 'Código do fornecedor', cell: ({ code }) => code, isExtra: true },
            {
              head: 'Conversão',
              cell: (line) => line.unit && `1 ${line.unit} = ${formatUnits(line.factor, unitIn(units, line))}`,
              isExtra: true,
            },
            { head: 'Quantidade', cell: (line) => formatUnits(line.quantity, unitIn(units, line)), isNumber: true },
            { head: 'Custo unitário', cell: ({ unit_cost }) => unit_cost && formatMoney(unit_cost), isNumber: true },
          ]}
        />
      </Card>
      <Card title={BILLS}>
        <ListTable
          caption={BILLS}
          rows={await billsOf(visit, payable_ids)}
          empty="Nenhuma conta a pagar."
          columns={[
            { head: 'Conta', cell: ({ id }) => <a href={link(`/contas-a-pagar/${id}`)}>{id}</a> },
            { head: 'Vencimento', cell: ({ due_date }) => formatDay(due_date) },
            { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
            { head: 'Situação', cell: (bill) => <AccountBadge account={bill} /> },
          ]}
        />
      </Card>
    </>
  )
}

const Search = z.object({ cursor: z.string().max(2_000).optional() })

const pages = recordPages<ShownReceipt>({
  path: RECEIPTS_PATH,
  section: 'catalog',
  subject: 'goods_receipt',
  editing: 'adjust_stock',
  words: {
    all: 'Entradas',
    create: 'Nova entrada',
    none: 'Nenhuma entrada.',
    begin: ['Nenhuma entrada ainda', 'Aqui ficam as mercadorias recebidas, com o custo e as contas a pagar.'],
  },
  list: {
    filters: {},
    columns: [
      { head: 'Entrada', cell: (receipt) => <a href={link(`${RECEIPTS_PATH}/${receipt.id}`)}>{nameOf(receipt)}</a> },
      { head: 'Fornecedor', cell: supplierCell },
      { head: 'Emissão', cell: ({ issued_on }) => issued_on && formatDay(issued_on), isExtra: true },
      { head: 'Situação', cell: ({ undone_at }) => (undone_at ? 'Desfeita' : 'Registrada') },
      { head: 'Custo', cell: ({ total_cost }) => total_cost && formatMoney(total_cost), isNumber: true },
    ],
    page: ({ readModel }, asked, { limit }) =>
      listFiltered(Search, asked, (search) => listGoodsReceipts(readModel.reader, { ...search, limit })),
    file: ({ readModel }) => [
      ['Número', ({ id }) => id],
      ['Documento', ({ reference }) => reference],
      ['Chave de acesso', ({ access_key }) => access_key],
      ['Fornecedor', ({ supplier_name }) => supplier_name],
      ['Emissão', ({ issued_on }) => issued_on && formatDay(issued_on)],
      ['Custo', ({ total_cost }) => amountCell(total_cost)],
      ['Registro', ({ created_at }) => formatDateTime(created_at, readModel.timezone)],
      ['Desfeita em', ({ undone_at }) => undone_at && formatDateTime(undone_at, readModel.timezone)],
    ],
    more: [
      { label: 'Entrada por NF-e', to: NFE_PATH },
      { label: 'Catálogo', to: '/catalogo' },
    ],
  },
  get: ({ readModel }, id) => getGoodsReceipt(readModel.reader, id),
  nameOf,
  facts: (receipt, { readModel }) => [
    ['Fornecedor', supplierCell(receipt)],
    ['Documento', receipt.reference],
    ['Chave de acesso', receipt.access_key],
    ['Emissão', receipt.issued_on && formatDay(receipt.issued_on)],
    ['Custo', receipt.total_cost && formatMoney(receipt.total_cost)],
    ['Registro', formatDateTime(receipt.created_at, readModel.timezone)],
  ],
  notice: (receipt, visit) => Undone({ visit, receipt }),
  more: (receipt, visit) => Content({ visit, receipt }),
  head: ({ id, undone_at }) => ({
    dangers: [undone_at === null && { label: 'Desfazer entrada', to: `${RECEIPTS_PATH}/${id}/desfazer` }],
  }),
  fields: fieldsOf,
  create: { schema: HandReceipt, command: receiveGoods, flash: 'entrada', showsChanges: true },
})

/** Why it cannot be undone, with the bills or products in its way. */
async function undoProblem({ refused, details = {} }: Refusal, visit: FormSubmission) {
  if (refused === 'has_payments') {
    const ids = (details.payable_ids ?? []) as readonly number[]
    return (
      <>
        {'Já há pagamento destas contas; estorne antes de desfazer: '}
        {ids.map((id, at) => [at > 0 && ', ', <a href={link(`/contas-a-pagar/${id}`)}>{`conta ${id}`}</a>])}.
      </>
    )
  }
  if (refused !== 'insufficient_stock') return undefined
  const items = (details.items ?? []) as readonly { catalog_item_id: number; requested: string; available: string }[]
  const [names, units] = [await namesOfItems(visit, items), await findUnits(visit.readModel.reader, items)]
  const textOf = (quantity: string, item: (typeof items)[number]) => formatUnits(quantity, unitIn(units, item))
  const texts = items.map(
    (item) =>
      `${names(subjectOf(item))} (entraram ${textOf(item.requested, item)}, há ${textOf(item.available, item)})`,
  )
  return `O estoque ficaria negativo; corrija por uma contagem antes de desfazer: ${namesText(texts)}.`
}

const undoPages = formPages<ShownReceipt, object>({
  path: `${RECEIPTS_PATH}/:id/desfazer`,
  section: 'catalog',
  access: RECEIVING,
  subject: (visit) => loadRecord<ShownReceipt>(visit, ({ readModel }, id) => getGoodsReceipt(readModel.reader, id)),
  title: ({ id }) => `Desfazer a entrada ${id}`,
  obstacle: ({ undone_at }) => undone_at && 'A entrada já foi desfeita.',
  intro: () => (
    <p>
      Sai do estoque o que entrou, os custos voltam ao que eram e as contas a pagar da entrada são excluídas. A mesma
      NF-e pode entrar de novo: corrija então os produtos e as conversões. O que foi cadastrado com ela fica.
    </p>
  ),
  label: 'Desfazer entrada',
  isDangerous: true,
  back: ({ id }) => `${RECEIPTS_PATH}/${id}`,
  fields: () => ({}),
  showsChanges: true,
  schema: z.object({}),
  problem: undoProblem,
  act: (submission, { id }) =>
    runAndRedirect(submission, undoGoodsReceipt, { id }, { to: `${RECEIPTS_PATH}/${id}`, flash: 'entrada-desfeita' }),
})

/** Forms need both permissions; what is shown are costs to pay. */
export const goodsReceiptPages: readonly PanelRoute[] = [
  ...nfePages,
  ...[...pages, ...undoPages].map((page): PanelRoute => {
    const more = page.changes ? RECEIVING : []
    return { ...page, access: ['see_payables', ...permissionsFor(page), ...more] as Permission[] }
  }),
]
