import * as z from 'zod'
import { ReceiveGoodsInput, receiveGoods } from '#commands/receive-goods.ts'
import { Cest, Gtin, Ncm } from '#domain/fiscal-values.ts'
import {
  bareTaxNumber,
  formatDay,
  formatMoney,
  formatPersonName,
  formatQuantity,
  formatTaxNumber,
  formatUnits,
} from '#domain/person-values.ts'
import { averageUnitCost, formatDocumentNumber, quantityReceived, sumLineCosts } from '#domain/prices.ts'
import { type Refusal, refuse, refuseField, refuseInvalid } from '#domain/refusals.ts'
import { REQUIRED_FIELD } from '#domain/text.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, createTimeSlicer } from '#lib/fair-sharing.ts'
import { MAX_NFE_BYTES, type MatchedNfe, matchNfe, type Nfe, type NfeProduct, readNfe } from '#panel/import/nfe-file.ts'
import { readImport, storeImport } from '#privacy/stored-imports.ts'
import { findReceiptByKey } from '#queries/goods-receipt-queries.ts'
import { amountInput, choiceInput, lineInput, namedOptions, quantityInput } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, ButtonLink, Card, Facts } from '../ui/page-parts.tsx'
import { loadCompany } from './company-pages.tsx'
import { itemField } from './item-pages.tsx'

export const RECEIPTS_PATH = '/catalogo/entradas'
export const NFE_PATH = `${RECEIPTS_PATH}/nfe`
const CHECK_PATH = `${NFE_PATH}/conferir`

/** Permissions to receive goods: they move stock and become accounts to pay. */
export const RECEIVING = ['adjust_stock', 'edit_payables'] as const

/** Kind of a stored file. */
const KIND = 'nfe'

/** Notes that are read at a time: each takes some MB meanwhile. */
const semaphore = createKeyedSemaphore({ running: 2, runningOfKey: 1, waiting: 32 })

const storeOf = ({ context: { reads }, session: { companyId } }: PageContext) => ({
  pool: reads.poolOf(companyId),
  vault: reads.vault,
})

async function read(visit: PageContext, bytes: Buffer): Promise<Nfe | Refusal> {
  const company = await loadCompany(visit)
  return readNfe(bytes, bareTaxNumber(company?.cnpj ?? ''), createTimeSlicer(visit.session.companyId))
}

function uploadPage(visit: PageContext, refusal?: Refusal): PanelPage {
  const messages = Object.values((refusal?.details?.fields ?? {}) as Record<string, string[]>).flat()
  const body = (
    <>
      {refusal && <Alert>{`O arquivo ${messages.join('; ')}.`}</Alert>}
      <form method="post" action={link(NFE_PATH)} enctype="multipart/form-data" class="form wide">
        <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
        <input type="hidden" name="_key" value={visit.context.environment.newId()} />
        <div class="field w12">
          <label for="campo-file">XML da NF-e</label>
          <input
            id="campo-file"
            name="file"
            type="file"
            accept=".xml,text/xml,application/xml"
            required
            aria-describedby="dica-file"
          />
          <p class="hint" id="dica-file">
            O arquivo que o fornecedor manda por e-mail, de até 5 MB. Nada é gravado antes de você conferir.
          </p>
        </div>
        <div class="actions">
          <button type="submit" class="main">
            Conferir a nota
          </button>
          <ButtonLink to={`${RECEIPTS_PATH}/novo`}>Entrada sem nota</ButtonLink>
        </div>
      </form>
    </>
  )
  const page = { title: 'Entrada por NF-e', parent: { label: 'Catálogo', to: '/catalogo' }, body }
  return refusal ? { ...page, status: toHttpStatus(refusal.refused) } : page
}

async function upload(submission: FormSubmission): Promise<PanelPage | Redirect> {
  const { session, file } = submission
  if (!file || file.length === 0) return uploadPage(submission, refuseField('file', 'está vazio: escolha um XML'))
  return semaphore.run(session.companyId, async () => {
    const nfe = await read(submission, file)
    if (isRefusal(nfe)) return uploadPage(submission, nfe)
    await storeImport(storeOf(submission), session, KIND, file)
    return { to: CHECK_PATH }
  })
}

/** The note that waits, if there is one. */
interface Waiting {
  readonly nfe: MatchedNfe | null
  /** Its receipt, if it was received before. */
  readonly receivedAs: number | null
}

const load = (visit: PageContext): Promise<Waiting> =>
  semaphore.run(visit.session.companyId, async () => {
    const stored = await readImport(storeOf(visit), visit.session, KIND)
    const nfe = stored && (await read(visit, stored.content))
    if (nfe === null || isRefusal(nfe)) return { nfe: null, receivedAs: null }
    const { reader } = visit.readModel
    return { nfe: await matchNfe(reader, nfe), receivedAs: await findReceiptByKey(reader, nfe.accessKey) }
  })

/** What becomes of a product of the note. */
const ACTIONS = {
  item: 'É um produto do catálogo',
  new: 'Cadastrar como produto novo',
  skip: 'Não entra no estoque',
} as const

const isAction = (text: string): text is keyof typeof ACTIONS => Object.hasOwn(ACTIONS, text)

/** Texts of the form; none before it is sent. */
const sentText = (visit: PageContext, name: string): string =>
  'form' in visit ? formText((visit as FormSubmission).form, name).trim() : ''

function actionOf(visit: PageContext, { match }: NfeProduct, at: number): keyof typeof ACTIONS {
  const sent = sentText(visit, `acao-${at}`)
  if (isAction(sent)) return sent
  return match ? 'item' : 'new'
}

const factorIn = (visit: PageContext, { factor }: NfeProduct, at: number): string => {
  const sent = sentText(visit, `fator-${at}`)
  return sent === '' ? factor : String(quantityInput.read(sent, ''))
}

/** What enters the stock, at which cost. */
function resultText(visit: PageContext, product: NfeProduct, at: number, action: keyof typeof ACTIONS): string {
  if (action === 'skip') return 'Só as contas a pagar.'
  const factor = factorIn(visit, product, at)
  if (quantityInput.problem?.(factor) || !/[1-9]/.test(factor)) return ''
  const part = { ...product, factor }
  const [quantity, cost] = [quantityReceived(part), averageUnitCost([part])]
  if (quantity === null || cost === null) return 'Confira o número: a quantidade ou o custo não cabe.'
  const { match } = product
  const unit = action === 'new' ? product.ownUnit : (match?.unit ?? null)
  const untracked =
    action === 'item' && match && !match.is_tracked ? ' O estoque deste produto não é controlado: só o custo muda.' : ''
  return `Entram ${formatUnits(quantity, unit)} a ${formatMoney(cost)} cada.${untracked}`
}

const titleOf = ({ numbers, name, code, quantity, unit, cost }: NfeProduct): string =>
  `${numbers.join(', ')} · ${name} (código ${code}): ${formatQuantity(formatDocumentNumber(quantity))} ${unit} por ${formatMoney(sumLineCosts([cost]))}`

async function productFields(visit: PageContext, product: NfeProduct, at: number): Promise<Fields> {
  const action = actionOf(visit, product, at)
  const { match, factor, name, ownUnit, unit } = product
  const typed = action === 'item' ? sentText(visit, `produto-${at}`) : ''
  const found = await itemField(visit, { label: 'Produto do catálogo', columns: 6, current: match, typed })
  const offersNew = match === null || action === 'new'
  return {
    [`acao-${at}`]: {
      label: 'O que fazer',
      kind: { ...choiceInput(namedOptions(ACTIONS)), show: () => action },
      isRequired: true,
      columns: 3,
      group: titleOf(product),
    },
    [`produto-${at}`]: {
      ...found,
      hint: 'Nome ou código.',
      kind: action === 'item' ? found.kind : { ...found.kind, read: () => null, problem: () => null },
    },
    [`fator-${at}`]: {
      label: `Em cada ${unit}, quantas unidades`,
      kind: { ...quantityInput, show: () => quantityInput.show(factor, '') },
      columns: 3,
      hint: resultText(visit, product, at, action),
    },
    ...(offersNew && {
      [`nome-${at}`]: { label: 'Nome do produto novo', kind: { ...lineInput, show: () => name }, columns: 6 },
      [`unidade-${at}`]: { label: 'Unidade', kind: { ...lineInput, show: () => ownUnit }, columns: 3 },
      [`preco-${at}`]: { label: 'Preço de venda (R$)', kind: amountInput, columns: 3 },
    }),
  }
}

async function fieldsOf({ nfe }: Waiting, visit: PageContext): Promise<Fields> {
  let fields: Fields = {}
  for (const [at, product] of (nfe?.products ?? []).entries())
    fields = Object.assign(fields, await productFields(visit, product, at))
  return fields
}

/** The form was made for this note. */
const NOTE_KEY = 'nota'

/** Codes of a note are taken for a new item where they are valid. */
const valid = <T,>(schema: z.ZodType<T>, value: string | null): T | null =>
  value === null ? null : (schema.safeParse(value).data ?? null)

type Values = Readonly<Record<string, unknown>>

function newItemOf({ ownGtin, ncm, cest }: NfeProduct, at: number, values: Values) {
  const [name, price] = [values[`nome-${at}`], values[`preco-${at}`]]
  const gtin = valid(Gtin, ownGtin)
  return {
    ...{ type: 'product' as const, name: name as string, price: price as string, barcode: ownGtin, gtin },
    ...{ unit: values[`unidade-${at}`] as string | null, ncm: valid(Ncm, ncm), cest: valid(Cest, cest) },
  }
}

/** The command's input, with the place in the note of each line and of each new item. */
interface Assembled {
  readonly input: ReceiveGoodsInput
  readonly lines: readonly number[]
  readonly newItems: readonly number[]
}

function assemble(nfe: MatchedNfe, values: Values): Assembled | Refusal {
  const fields: Record<string, string[]> = {}
  const [lines, newItems]: [number[], number[]] = [[], []]
  const made: ReceiveGoodsInput['lines'] = []
  for (const [at, product] of nfe.products.entries()) {
    const action = values[`acao-${at}`]
    if (action === 'skip') continue
    const factor = (values[`fator-${at}`] ?? product.factor) as string
    const { code, unit, quantity, cost } = product
    const line = {
      ...{ code, unit: unit || null, factor },
      ...{ quantity: formatDocumentNumber(quantity), cost: formatDocumentNumber(cost) },
    }
    if (!/[1-9]/.test(factor)) fields[`fator-${at}`] = ['deve ser maior que zero']
    if (action === 'new') {
      for (const name of [`nome-${at}`, `preco-${at}`])
        if ((values[name] ?? null) === null) fields[name] = [REQUIRED_FIELD]
      made.push({ ...line, new_item: newItems.push(at) - 1 })
    } else if (typeof values[`produto-${at}`] === 'number')
      made.push({ ...line, catalog_item_id: values[`produto-${at}`] as number })
    else fields[`produto-${at}`] = ['escolha o produto, ou cadastre como novo']
    lines.push(at)
  }
  if (Object.keys(fields).length > 0) return refuse('validation_failed', { fields })
  const { accessKey, number, series, issuedOn, supplier, bills } = nfe
  const input: ReceiveGoodsInput = {
    access_key: accessKey,
    reference: `NF-e ${number}, série ${series}`,
    issued_on: issuedOn,
    supplier: { document: supplier.document, name: supplier.name, trade_name: supplier.tradeName },
    new_items: newItems.map((at) => newItemOf(nfe.products[at] as NfeProduct, at, values)),
    lines: made,
    bills: [...bills],
  }
  return { input, lines, newItems }
}

const receivedText = (id: unknown): string => `Esta NF-e já entrou: é a entrada ${id}.`

/** Fields of the form for those of a new item. */
const NEW_FIELDS: Readonly<Record<string, string>> = { name: 'nome', price: 'preco', unit: 'unidade' }

/** A refusal about lines and new items of the command, said of the fields of the form. */
function ofForm({ refused, details = {} }: Refusal, { lines, newItems }: Assembled): Refusal {
  const nameOf = (path: string): string => {
    const [, list, place, member = ''] = /^(lines|new_items)\[(\d+)\](?:\.(\w+))?/.exec(path) ?? []
    if (list === 'lines') return `${member === 'catalog_item_id' ? 'produto' : 'fator'}-${lines[Number(place)]}`
    return list ? `${NEW_FIELDS[member] ?? 'nome'}-${newItems[Number(place)]}` : path
  }
  const fields = Object.entries((details.fields ?? {}) as Record<string, string[]>).map(
    ([path, told]) => [nameOf(path), told] as const,
  )
  const { field } = details
  if (field === 'access_key') return refuse(refused, { fields: { nota: [receivedText(details.conflicting_id)] } })
  if (refused === 'duplicate_resource' && typeof field === 'string' && field.startsWith('new_items'))
    return refuseField(
      nameOf(field),
      `já há um produto com este código (nº ${details.conflicting_id}): escolha-o no catálogo`,
    )
  return refuse(refused, fields.length > 0 ? { ...details, fields: Object.fromEntries(fields) } : details)
}

async function receive(submission: FormSubmission, { nfe }: Waiting, values: Values): Promise<Redirect | Refusal> {
  if (!nfe || formText(submission.form, NOTE_KEY) !== nfe.accessKey)
    return refuseField('file', 'Outra nota foi enviada depois desta conferência: abra a conferência de novo.')
  const assembled = assemble(nfe, values)
  if (isRefusal(assembled)) return assembled
  const parsed = ReceiveGoodsInput.safeParse(assembled.input)
  if (!parsed.success) return ofForm(refuseInvalid(parsed.error), assembled)
  const answer = await submission.run(receiveGoods, parsed.data)
  if (isRefusal(answer)) return ofForm(answer, assembled)
  return { to: `${RECEIPTS_PATH}/${(answer.record as { id: number }).id}`, flash: 'entrada' }
}

/** What the note says of itself, its supplier and its bill. */
const NoteCard = ({ nfe }: { readonly nfe: MatchedNfe }) => {
  const { number, series, issuedOn, supplier, known, total, bills, accessKey, isTest } = nfe
  return (
    <Card title="Nota">
      {isTest && <Alert>Esta nota é de teste (ambiente de homologação): não tem valor fiscal.</Alert>}
      <Facts
        facts={[
          ['NF-e', `${number}, série ${series}, de ${formatDay(issuedOn)}`],
          [
            'Fornecedor',
            known ? (
              <a key="supplier" href={link(`/fornecedores/${known.id}`)}>
                {formatPersonName(known.name)}
              </a>
            ) : (
              `${supplier.name} (será cadastrado)`
            ),
          ],
          ['CNPJ', formatTaxNumber(supplier.document)],
          ['Total da nota', total && formatMoney(total)],
          ['Chave de acesso', accessKey],
        ]}
      />
      <h2>Contas a pagar</h2>
      <ListTable
        caption="Contas a pagar"
        rows={bills.map((bill, at) => ({ ...bill, number: `${at + 1} de ${bills.length}` }))}
        empty="A nota não traz parcelas: nenhuma conta será criada."
        columns={[
          { head: 'Parcela', cell: ({ number: place }) => place },
          { head: 'Vencimento', cell: ({ due_date }) => formatDay(due_date) },
          { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
        ]}
      />
    </Card>
  )
}

const checkPages = formPages<Waiting, Values>({
  path: CHECK_PATH,
  section: 'catalog',
  access: RECEIVING,
  subject: load,
  title: ({ nfe }) => (nfe ? `Conferir a NF-e ${nfe.number}` : 'Entrada por NF-e'),
  obstacle: ({ nfe, receivedAs }) => {
    if (receivedAs !== null) return receivedText(receivedAs)
    return nfe ? null : 'Nenhuma nota aguarda conferência. Um arquivo fica guardado por uma hora.'
  },
  instead: ({ receivedAs }) =>
    receivedAs !== null && (
      <ButtonLink to={`${RECEIPTS_PATH}/${receivedAs}`}>{`Ver a entrada ${receivedAs}`}</ButtonLink>
    ),
  before: ({ nfe }) => nfe && <NoteCard nfe={nfe} />,
  intro: ({ nfe }) => <input type="hidden" name={NOTE_KEY} value={nfe?.accessKey} />,
  summary: () => <p class="hint">Depois de mudar um produto ou um número, “Ver o que muda” faz as contas de novo.</p>,
  label: 'Registrar entrada',
  back: () => NFE_PATH,
  fields: fieldsOf,
  showsChanges: true,
  schema: z.record(z.string(), z.unknown()),
  act: receive,
})

export const nfePages: readonly PanelRoute[] = [
  {
    path: NFE_PATH,
    section: 'catalog',
    access: RECEIVING,
    changes: true,
    show: (visit) => Promise.resolve(uploadPage(visit)),
  },
  {
    path: NFE_PATH,
    section: 'catalog',
    access: RECEIVING,
    takesFile: true,
    maxFileBytes: MAX_NFE_BYTES,
    submit: upload,
  },
  ...checkPages,
]
