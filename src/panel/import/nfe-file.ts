import { isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { AccessKey, readAccessKey, withoutZeros } from '#domain/fiscal-values.ts'
import { CalendarDate } from '#domain/instant.ts'
import { Quantity } from '#domain/money.ts'
import { formatTaxNumber, isCnpj, isCpf } from '#domain/person-values.ts'
import { formatDocumentNumber, parseDocumentNumber, toExactAmount } from '#domain/prices.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { isPlaceholderCode, withoutInvisible } from '#domain/text.ts'
import { groupBy } from '#lib/collections.ts'
import {
  findItemsByGtin,
  findSupplierByDocument,
  listSupplierItems,
  type ReceivableItem,
} from '#queries/goods-receipt-queries.ts'
import type { Reader } from '#queries/reader.ts'
import type { Pause } from './encoding.ts'
import { createParser, PIECE } from './workbook.ts'

export const MAX_NFE_BYTES = 5_000_000

/** As the layout: lines, instalments. */
const [MAX_LINES, MAX_BILLS] = [990, 120]
/** A note of 990 lines has a third. */
const MAX_ELEMENTS = 300_000
/** Texts of the layout that are read are not longer, in UTF-16 units. */
const MAX_LEAF = 200

/** A line of an NF-e. Numbers are in units of 10^-10. */
interface NfeLine {
  readonly number: string
  /** The supplier's code. */
  readonly code: string
  readonly name: string
  readonly ncm: string | null
  readonly cest: string | null
  readonly unit: string
  readonly quantity: bigint
  /** Barcodes of the sold unit and of the taxed one, without what stands for none. */
  readonly gtin: string | null
  readonly taxedGtin: string | null
  readonly taxedUnit: string
  readonly taxedQuantity: bigint
  /** vProd − vDesc + vFrete + vSeg + vOutro + vIPI + vICMSST */
  readonly cost: bigint
}

/** What an authorized NF-e says to its buyer. */
export interface Nfe {
  readonly accessKey: string
  readonly number: string
  readonly series: string
  readonly issuedOn: string
  /** Issued for tests, without fiscal value. */
  readonly isTest: boolean
  readonly supplier: { readonly document: string; readonly name: string; readonly tradeName: string | null }
  readonly buyer: string
  readonly total: string | null
  readonly lines: readonly NfeLine[]
  readonly bills: readonly { readonly due_date: string; readonly amount: string }[]
}

/** Why a file is refused; its message is for the shop. */
class NotRead extends Error {}

const stop = (message: string): never => {
  throw new NotRead(message)
}

const NOT_XML = 'não é um XML de NF-e: peça ao fornecedor o arquivo XML da nota autorizada'
const NO_PROTOCOL =
  'não tem o protocolo de autorização: peça ao fornecedor o XML da nota autorizada (nfeProc), e não o que foi enviado à SEFAZ'

/** Files of NF-e that are no note. */
const OTHER_ROOTS: Readonly<Record<string, string>> = {
  NFe: NO_PROTOCOL,
  enviNFe: NO_PROTOCOL,
  resNFe: 'é só o resumo da nota: baixe o XML completo',
  procEventoNFe: 'é um evento da nota (cancelamento, carta de correção ou outro), e não a nota',
  cteProc: 'é um conhecimento de transporte (CT-e), e não uma NF-e',
  CFe: 'é um cupom SAT, e não uma NF-e',
}

/** Text of a file in its declared encoding, unless its bytes say another one. */
function decode(bytes: Buffer): string {
  const bom = bytes.readUInt16BE(0)
  if (bom === 0xfffe || bom === 0xfeff) return iconv.decode(bytes, 'utf16')
  const head = bytes.subarray(0, 200).toString('latin1')
  const declared =
    /^[^<]{0,3}<\?xml[^>]{0,150}?encoding\s?=\s?["']([A-Za-z0-9_.-]{1,40})["']/.exec(head)?.[1] ?? 'utf-8'
  const isKnown = /^(utf-?8|us-ascii|iso-8859-1|latin-?1|windows-1252|iso-8859-15)$/i.test(declared)
  if (!isKnown) return stop(`está na codificação ${declared}, que não lemos: salve como UTF-8`)
  // Many programs declare one and write the other.
  if (isUtf8(bytes)) return iconv.decode(bytes, 'utf8')
  return iconv.decode(bytes, /^iso-8859-15$/i.test(declared) ? 'iso-8859-15' : 'windows-1252')
}

/** Texts of the elements that are read, by path. */
type Texts = Map<string, string>

interface Parts {
  readonly head: Texts
  readonly lines: Texts[]
  readonly bills: Texts[]
}

const NOTE = 'nfeProc/NFe/infNFe/'
const PROTOCOL = 'nfeProc/protNFe/infProt/'

/** Paths within `det`. The group of ICMS is named by its taxation. */
const LINE_PATHS = new Set(
  [
    ...['cProd', 'cEAN', 'xProd', 'NCM', 'CEST', 'uCom', 'qCom', 'vProd', 'cEANTrib', 'uTrib', 'qTrib'],
    ...['vFrete', 'vSeg', 'vDesc', 'vOutro'],
  ].map((name) => `prod/${name}`),
)
LINE_PATHS.add('imposto/IPI/IPITrib/vIPI')

const HEAD_PATHS = new Set([
  ...['mod', 'serie', 'nNF', 'dhEmi', 'tpAmb'].map((name) => `${NOTE}ide/${name}`),
  ...['CNPJ', 'CPF', 'xNome', 'xFant'].map((name) => `${NOTE}emit/${name}`),
  ...[`${NOTE}dest/CNPJ`, `${NOTE}dest/CPF`, `${NOTE}total/ICMSTot/vNF`],
  ...['chNFe', 'cStat', 'nProt'].map((name) => PROTOCOL + name),
])

/** Where the text of a path belongs, and under which name; null if it is not read. */
function placeOf(path: string, { head, lines, bills }: Parts): readonly [Texts | undefined, string] | null {
  if (HEAD_PATHS.has(path)) return [head, path]
  if (path.startsWith(`${NOTE}cobr/dup/`)) return [bills.at(-1), path.slice(NOTE.length + 9)]
  if (!path.startsWith(`${NOTE}det/`)) return null
  const name = path.slice(NOTE.length + 4)
  if (LINE_PATHS.has(name)) return [lines.at(-1), name]
  return /^imposto\/ICMS\/ICMS\w{2,10}\/vICMSST$/.test(name) ? [lines.at(-1), 'vICMSST'] : null
}

/** Collects the texts of a note in slices. */
async function collect(text: string, pause: Pause): Promise<Parts> {
  const parts: Parts = { head: new Map(), lines: [], bills: [] }
  const path: string[] = []
  let [elements, leaf] = [0, '']
  const onElement = () => {
    elements += 1
    if (elements > MAX_ELEMENTS) stop('tem elementos demais')
  }
  const parser = createParser(
    {
      open(name, attributes) {
        path.push(name)
        leaf = ''
        const here = path.join('/')
        if (path.length === 1 && name !== 'nfeProc') stop(OTHER_ROOTS[name] ?? NOT_XML)
        if (here === NOTE.slice(0, -1)) {
          if (parts.head.has('versao')) stop('tem mais de uma nota')
          parts.head.set('versao', attributes.versao ?? '').set('Id', attributes.Id ?? '')
        } else if (here === `${NOTE}det`) {
          if (parts.lines.length === MAX_LINES) stop(`tem mais de ${MAX_LINES} itens`)
          parts.lines.push(new Map([['nItem', attributes.nItem ?? String(parts.lines.length + 1)]]))
        } else if (here === `${NOTE}cobr/dup`) {
          if (parts.bills.length === MAX_BILLS) stop(`tem mais de ${MAX_BILLS} parcelas`)
          parts.bills.push(new Map())
        }
      },
      text(part) {
        if (leaf.length <= MAX_LEAF) leaf += part
      },
      close() {
        const place = placeOf(path.join('/'), parts)
        path.pop()
        if (!place) return
        const [texts, name] = place
        if (texts?.has(name)) stop(`tem ${name.split('/').at(-1)} repetido`)
        texts?.set(name, withoutInvisible(leaf).slice(0, MAX_LEAF).trim())
        leaf = ''
      },
    },
    onElement,
  )
  for (let at = 0; at < text.length; at += PIECE) {
    await pause()
    parser.write(text.slice(at, at + PIECE))
  }
  parser.close()
  return parts
}

/** Number of a line in units of 10^-10. */
function numberOf(texts: Texts, name: string, isRequired = false): bigint {
  const text = texts.get(name)
  if (text === undefined || text === '') return isRequired ? stop(`o item ${texts.get('nItem')} não tem ${name}`) : 0n
  return parseDocumentNumber(text) ?? stop(`o item ${texts.get('nItem')} tem ${name} que não é um número`)
}

const barcodeOf = (text: string | undefined): string | null =>
  text === undefined || text === '' || isPlaceholderCode(text) ? null : text

function lineOf(texts: Texts): NfeLine {
  const number = (texts.get('nItem') ?? '').slice(0, 5)
  const [code, name] = [texts.get('prod/cProd') ?? '', texts.get('prod/xProd') ?? '']
  if (code === '' || name === '') stop(`o item ${number} não tem código ou nome`)
  const quantity = numberOf(texts, 'prod/qCom', true)
  if (quantity === 0n) stop(`o item ${number} tem quantidade zero`)
  const cost =
    numberOf(texts, 'prod/vProd', true) -
    numberOf(texts, 'prod/vDesc') +
    numberOf(texts, 'prod/vFrete') +
    numberOf(texts, 'prod/vSeg') +
    numberOf(texts, 'prod/vOutro') +
    numberOf(texts, 'imposto/IPI/IPITrib/vIPI') +
    numberOf(texts, 'vICMSST')
  if (cost < 0n) stop(`o item ${number} tem desconto maior que o valor`)
  const unit = (texts.get('prod/uCom') ?? '').slice(0, 20)
  return {
    ...{ number, code: code.slice(0, 60), name: name.slice(0, 120), quantity, cost, unit },
    ncm: texts.get('prod/NCM') || null,
    cest: texts.get('prod/CEST') || null,
    gtin: barcodeOf(texts.get('prod/cEAN')),
    taxedGtin: barcodeOf(texts.get('prod/cEANTrib')),
    taxedUnit: (texts.get('prod/uTrib') ?? '').slice(0, 20),
    taxedQuantity: numberOf(texts, 'prod/qTrib'),
  }
}

function billOf(texts: Texts, issuedOn: string): readonly Nfe['bills'][number][] {
  const amount = toExactAmount(parseDocumentNumber(texts.get('vDup') ?? '') ?? -1n)
  if (amount === null) return stop('tem uma parcela sem valor válido')
  const due = texts.get('dVenc') || issuedOn
  if (!CalendarDate.safeParse(due).success) stop('tem uma parcela com vencimento que não existe')
  return amount === '0.00' ? [] : [{ due_date: due, amount }]
}

/** The access key, if the note and its authorization agree on it. */
function accessKeyOf(head: Texts): string {
  const [id, key] = [head.get('Id') ?? '', head.get(`${PROTOCOL}chNFe`)]
  if (key === undefined) return stop(NO_PROTOCOL)
  if (id !== `NFe${key}`) stop('tem um protocolo de outra nota')
  const checked = AccessKey.safeParse(key)
  if (!checked.success) return stop(`tem uma chave de acesso errada: ${checked.error.issues[0]?.message}`)
  const { model, series, number } = readAccessKey(key)
  if (model !== '55') stop(`é do modelo ${model}: só entram notas do modelo 55 (NF-e)`)
  const [serie = '', nNF = ''] = ['serie', 'nNF'].map((name) => head.get(`${NOTE}ide/${name}`) ?? '')
  if (series !== withoutZeros(serie) || number !== withoutZeros(nNF) || head.get(`${NOTE}ide/mod`) !== '55')
    stop('tem número, série ou modelo diferentes dos da chave de acesso')
  return checked.data
}

const CANCELLED = /^(101|135|151|155)$/

function toNfe({ head, lines, bills }: Parts): Nfe {
  const accessKey = accessKeyOf(head)
  const version = head.get('versao')
  if (version !== '4.00') stop(`está no leiaute ${version?.slice(0, 10)}: só lemos o 4.00`)
  const state = head.get(`${PROTOCOL}cStat`) ?? ''
  if (CANCELLED.test(state)) stop('é de uma nota cancelada')
  if (state !== '100' && state !== '150') stop(`não está autorizada na SEFAZ (cStat ${state.slice(0, 5)})`)
  const issuedOn = (head.get(`${NOTE}ide/dhEmi`) ?? '').slice(0, 10)
  if (!CalendarDate.safeParse(issuedOn).success) stop('tem uma data de emissão que não existe')
  const document = (head.get(`${NOTE}emit/CNPJ`) ?? head.get(`${NOTE}emit/CPF`) ?? '').toUpperCase()
  const name = head.get(`${NOTE}emit/xNome`) ?? ''
  if (!(isCnpj(document) || isCpf(document)) || name === '') stop('não diz quem é o fornecedor')
  if (lines.length === 0) stop('não tem itens')
  return {
    ...{ accessKey, issuedOn, isTest: head.get(`${NOTE}ide/tpAmb`) === '2' },
    number: withoutZeros(head.get(`${NOTE}ide/nNF`) ?? ''),
    series: withoutZeros(head.get(`${NOTE}ide/serie`) ?? ''),
    supplier: { document, name: name.slice(0, 120), tradeName: head.get(`${NOTE}emit/xFant`) || null },
    buyer: (head.get(`${NOTE}dest/CNPJ`) ?? head.get(`${NOTE}dest/CPF`) ?? '').toUpperCase(),
    total: toExactAmount(parseDocumentNumber(head.get(`${NOTE}total/ICMSTot/vNF`) ?? '') ?? -1n),
    lines: lines.map(lineOf),
    bills: bills.flatMap((bill) => billOf(bill, issuedOn)),
  }
}

/**
 * Reads the XML of an authorized NF-e for its buyer in slices; any other file is refused. The signature is not checked:
 * the note is recorded as what the shop says that it received.
 */
export async function readNfe(bytes: Buffer, buyerCnpj: string | null, pause: Pause): Promise<Nfe | Refusal> {
  try {
    if (bytes.length > MAX_NFE_BYTES) stop('tem mais de 5 MB')
    if (bytes.length < 100) stop(NOT_XML)
    const text = decode(bytes)
      .replace(/^\uFEFF/, '')
      .trimStart()
    if (/<!(DOCTYPE|ENTITY)/i.test(text)) stop('tem uma DTD, que uma NF-e não tem')
    if (!text.startsWith('<')) stop(NOT_XML)
    const nfe = toNfe(await collect(text, pause))
    if (buyerCnpj === null) return stop('não pode ser conferido: informe o CNPJ da empresa nas configurações')
    if (nfe.buyer !== buyerCnpj) {
      const buyer = isCnpj(nfe.buyer) || isCpf(nfe.buyer) ? formatTaxNumber(nfe.buyer) : 'outro comprador'
      stop(`é de uma nota para ${buyer}, e não para esta empresa (${formatTaxNumber(buyerCnpj)})`)
    }
    return nfe
  } catch (error) {
    return refuseField('file', error instanceof NotRead ? error.message : NOT_XML)
  }
}

/** Lines of a note with one code and unit: they are one product, whatever lots it came in. */
export interface NfeProduct extends NfeLine {
  /** Numbers of its lines. */
  readonly numbers: readonly string[]
  readonly match: ReceivableItem | null
  /** Own units in one of the supplier's: remembered, or as the note's taxed unit says. */
  readonly factor: string
  /** Barcode and unit that a new item gets. */
  readonly ownGtin: string | null
  readonly ownUnit: string
}

/** A note with what the company knows of its supplier and products. */
export interface MatchedNfe extends Nfe {
  readonly known: { readonly id: number; readonly name: string | null } | null
  readonly products: readonly NfeProduct[]
}

const sameUnit = (one: string | null, other: string): boolean =>
  one?.trim().toUpperCase() === other.trim().toUpperCase()

/** Taxed units in one sold unit, if that is a quantity: 12 of a `CX` that is taxed as 12 `UN`. */
function taxedInSold({ quantity, taxedQuantity }: NfeLine): string | null {
  const thousandths = taxedQuantity * 1000n
  if (taxedQuantity === 0n || thousandths % quantity !== 0n) return null
  const factor = formatDocumentNumber((thousandths / quantity) * 10_000_000n)
  return Quantity.safeParse(factor).success ? factor : null
}

/** Own units in one of the supplier's, of an item that was found by its code. */
function factorOf(line: NfeLine, item: ReceivableItem, isTaxedCode: boolean): string {
  const taxed = taxedInSold(line)
  if (taxed === null || sameUnit(item.unit, line.unit)) return '1'
  const hasOneCode = line.gtin === line.taxedGtin
  return sameUnit(item.unit, line.taxedUnit) || (isTaxedCode && !hasOneCode) || (hasOneCode && item.unit === null)
    ? taxed
    : '1'
}

function merged(lines: readonly NfeLine[]): NfeLine {
  const sum = (of: 'quantity' | 'taxedQuantity' | 'cost') => lines.reduce((all, line) => all + line[of], 0n)
  return {
    ...(lines[0] as NfeLine),
    quantity: sum('quantity'),
    taxedQuantity: sum('taxedQuantity'),
    cost: sum('cost'),
  }
}

/** Finds supplier and products: by what they were the last time, then by GTIN. */
export async function matchNfe(reader: Reader, nfe: Nfe): Promise<MatchedNfe> {
  const known = await findSupplierByDocument(reader, nfe.supplier.document)
  const groups = [...groupBy(nfe.lines, ({ code, unit }) => JSON.stringify([code, unit])).values()]
  const codes = [...new Set(nfe.lines.map(({ code }) => code))]
  const remembered = known ? await listSupplierItems(reader, known.id, codes) : []
  const gtins = [...new Set(nfe.lines.flatMap(({ gtin, taxedGtin }) => [gtin ?? [], taxedGtin ?? []].flat()))]
  const byGtin = await findItemsByGtin(reader, gtins)
  const products = groups.map((lines): NfeProduct => {
    const line = merged(lines)
    const taxed = sameUnit(line.unit, line.taxedUnit) ? null : taxedInSold(line)
    const own = {
      numbers: lines.map(({ number }) => number),
      ownGtin: line.taxedGtin ?? (taxed === null ? line.gtin : null),
      ownUnit: taxed === null ? line.unit : line.taxedUnit,
    }
    const before = remembered.find(({ code, of_unit }) => code === line.code && of_unit === line.unit)
    if (before)
      return { ...line, ...own, match: before, factor: formatDocumentNumber(parseDocumentNumber(before.factor) ?? 0n) }
    const [sold, single] = [line.gtin, line.taxedGtin].map((code) => (code === null ? undefined : byGtin.get(code)))
    const match = sold ?? single ?? null
    return { ...line, ...own, match, factor: match ? factorOf(line, match, sold === undefined) : (taxed ?? '1') }
  })
  return { ...nfe, known, products }
}
