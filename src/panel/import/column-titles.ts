import { bareTaxNumber, isCnpj, isCpf } from '#domain/person-values.ts'
import { searchKey } from '#domain/text.ts'
import { ownValue } from '#lib/collections.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { Sheet } from './sheet.ts'

/** Fields by column. */
export type ImportMapping = ReadonlyMap<number, string>

/** A title without marks, punctuation and the name of a store behind it: `Price [Loja 1]`, `Nome*`. */
const plainHead = (head: string): string =>
  searchKey(
    head
      .replace(/\[[^[\]]*\]/g, ' ')
      .replace(/[._*:-]/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(/ ?\/ ?/g, '/'),
  )

/** The same without remarks in parentheses: `Preço (R$)`. */
const withoutRemarks = (head: string): string => plainHead(head.replace(/\([^()]*\)/g, ' '))

interface Candidate {
  readonly field: string
  /** Lower is more telling. */
  readonly rank: number
}

type HeadWords = ReadonlyMap<string, readonly Candidate[]>

/** Fields by known title: labels, API names and synonyms. */
export function createHeadWords(fields: Fields, synonyms: Synonyms): HeadWords {
  const words = new Map<string, Candidate[]>()
  for (const [field, { label }] of Object.entries(fields)) {
    const known = [label, withoutRemarks(label), field, ...(ownValue(synonyms, field) ?? [])]
    for (const [rank, word] of known.entries()) {
      const key = plainHead(word)
      const before = words.get(key) ?? []
      if (!before.some((one) => one.field === field)) words.set(key, [...before, { field, rank }])
    }
  }
  return words
}

export const findCandidates = (words: HeadWords, head: string): readonly Candidate[] =>
  words.get(plainHead(head)) ?? words.get(withoutRemarks(head)) ?? []

/**
 * Fields of columns by their titles. A field has the column with its most telling title; the fields of `shared` have
 * each column with one of theirs.
 */
export function guessMapping(heads: readonly string[], words: HeadWords, shared: readonly string[]): ImportMapping {
  const mapping = new Map<number, string>()
  const taken = new Set<string>()
  const candidates = heads.flatMap((head, column) =>
    findCandidates(words, head).map((candidate) => ({ ...candidate, column })),
  )
  for (const { field, column } of candidates.sort((a, b) => a.rank - b.rank)) {
    if (mapping.has(column) || (taken.has(field) && !shared.includes(field))) continue
    taken.add(field)
    mapping.set(column, field)
  }
  return new Map([...mapping].sort(([a], [b]) => a - b))
}

/** Lines whose cells are looked at. */
const MAX_LINES = 50

const isDocument = (cell: string): boolean => {
  const text = bareTaxNumber(cell.replace(/^'/, ''))
  // Spreadsheets drop zeros at the beginning of a number.
  return isCpf(text.padStart(11, '0')) || isCnpj(text.padStart(14, '0'))
}

/** Columns that are not imported although most of their first cells are a CPF or CNPJ. */
export function unmappedDocuments({ heads, lines }: Sheet, mapping: ImportMapping): string[] {
  return heads.flatMap((head, column) => {
    if (mapping.has(column)) return []
    const cells = lines.slice(0, MAX_LINES).flatMap(({ cells }) => cells[column] || [])
    const documents = cells.filter(isDocument)
    return documents.length * 2 > cells.length ? [head || `Coluna ${column + 1}`] : []
  })
}

/** Head of the column with the reasons in a file of wrong lines. */
export const REASON_HEAD = 'O que corrigir'

/** Columns with content that are not imported; those that may be documents are told apart. */
export function unmappedColumns(sheet: Sheet, mapping: ImportMapping, told: readonly string[]): string[] {
  const width = Math.max(...sheet.lines.slice(0, MAX_LINES).map(({ cells }) => cells.length), 0)
  return Array.from({ length: Math.max(width, sheet.heads.length) }, (_, column) => column).flatMap((column) => {
    const head = sheet.heads[column] || `Coluna ${column + 1}`
    if (mapping.has(column) || head === REASON_HEAD || told.includes(head)) return []
    const isFilled = sheet.heads[column] || sheet.lines.slice(0, MAX_LINES).some(({ cells }) => cells[column])
    return isFilled ? [head] : []
  })
}

/** An amount, a code or a date: no column is called so. */
const VALUE = /^(?:R\$\s*)?\d[\d.,/-]*$/

/** Whether the row of titles has values: then the file has no titles, and its first record would be lost. */
export const hasNoHeads = ({ heads }: Sheet): boolean => heads.some((head) => VALUE.test(head))

/** Column titles of other programs, by field, the most telling first. */
export type Synonyms = Readonly<Record<string, readonly string[]>>

export const ITEM_HEADS: Synonyms = {
  external_id: [
    'id',
    'codigo',
    'codigo do produto',
    'codigo produto',
    'cod produto',
    'cod',
    'codigo interno',
    'codigo de integracao',
    'token',
    'id produto',
    'cod interno',
    'codigo erp',
  ],
  name: [
    'nome do produto',
    'nome produto',
    'produto',
    'item name',
    'product name',
    'name',
    'descricao',
    'descricao do produto',
    'descricao produto',
    'item',
    'mercadoria',
    'product',
    'titulo',
    'descr',
    'desc produto',
    'descricao completa',
    'descricao do item',
    'nome do item',
    'produto/servico',
  ],
  type: ['tipo do produto', 'tipo de produto', 'item type', 'product type', 'type'],
  price: [
    'preco',
    'preco de venda',
    'preco venda',
    'valor de venda',
    'valor venda',
    'preco unitario de venda',
    'preco unitario',
    'valor unitario',
    'regular price',
    'preco normal',
    'preco regular',
    'default price',
    'preco padrao',
    'price',
    'valor',
    'valor unit',
    'preco unit',
    'preco a vista',
    'preco varejo',
    'preco final',
    'preco de tabela',
    'vl venda',
    'vlr venda',
    'vl unitario',
    'vlr unitario',
    'vl unit',
    'vlr unit',
    'pvenda',
    'p venda',
    'preco 1',
    'r$',
  ],
  cost: [
    'custo',
    'preco de custo',
    'preco custo',
    'valor de custo',
    'custo unitario',
    'cost',
    'default unit cost',
    'unit cost',
    'purchase cost',
    'cost price',
    'preco de compra',
    'valor de compra',
    'valor custo',
    'custo medio',
    'custo atual',
    'ultimo custo',
    'vl custo',
    'vlr custo',
    'pcusto',
    'p custo',
  ],
  unit: [
    'un',
    'unid',
    'und',
    'um',
    'unid medida',
    'un medida',
    'unidade de venda',
    'sigla',
    'u m',
    'unidade de medida',
    'unidade comercial',
    'unit',
  ],
  barcode: [
    'codigo barras',
    'cod barras',
    'cod de barras',
    'barcode',
    'ean',
    'ean13',
    'gtin/ean',
    'ean/gtin',
    'codigo ean',
    'codigo ean (gtin)',
    'codigo de barras (ean)',
    'gtin, upc, ean, or isbn',
    'gtin, upc, ean ou isbn',
    'upc',
    'codigo de barra',
    'cod barra',
    'codigo barra',
    'cod ean',
    'ean 13',
    'ean/dun',
    'codigo ean/gtin',
    'codigo gtin',
    'codigo gtin/ean',
    'gtin ean',
    'ean gtin',
    'cbarra',
  ],
  sku: ['codigo (sku)', 'codigo sku', 'sku (codigo)', 'referencia', 'ref', 'codigo'],
  gtin: ['cean'],
  ncm: ['codigo ncm', 'ncm/sh', 'classificacao fiscal'],
  cest: ['codigo cest'],
  origin: ['origem', 'origem do produto', 'origem mercadoria', 'origem icms'],
  cfop: ['codigo cfop', 'cfop padrao', 'cfop de venda'],
  icms_cst: ['cst', 'cst icms', 'icms cst'],
  csosn: ['codigo csosn'],
  pis_cst: ['cst pis', 'pis cst'],
  cofins_cst: ['cst cofins', 'cofins cst'],
  cbenef: ['beneficio fiscal', 'codigo beneficio fiscal'],
  ibs_cbs_cst: ['cst ibs/cbs', 'cst ibs e cbs', 'cst ibs cbs'],
  ibs_cbs_class: ['cclasstrib', 'classificacao tributaria ibs/cbs', 'class trib'],
  stock: [
    'estoque',
    'estoque atual',
    'saldo em estoque',
    'quantidade em estoque',
    'qtd em estoque',
    'estoque disponivel',
    'saldo',
    'saldo atual',
    'stock',
    'in stock',
    'em estoque',
    'current quantity',
    'quantidade',
    'quantity',
    'qtde',
    'qtd',
    'quant',
    'qt',
    'qtd estoque',
    'qtde estoque',
    'qtd atual',
    'qtde atual',
    'qtd disponivel',
    'qtde disponivel',
    'estoque fisico',
    'saldo estoque',
    'saldo de estoque',
  ],
  min_stock: [
    'estoque minimo',
    'minimo',
    'qtd minima',
    'quantidade minima',
    'min stock',
    'low stock amount',
    'low stock',
  ],
  parent: [
    'produto pai',
    'codigo pai',
    'codigo do pai',
    'codigo do produto pai',
    'sku pai',
    'sku do pai',
    'parent',
    'parent sku',
    'ascendente',
    'produto ascendente',
    'pai',
  ],
  size: ['tam', 'size'],
  color: ['color', 'colour'],
  category: [
    'categoria do produto',
    'categorias',
    'category',
    'categories',
    'familia de produto',
    'familia',
    'grupo de produtos',
    'grupo',
    'grupo do produto',
    'departamento',
    'secao',
    'setor',
    'linha',
  ],
}

export const PERSON_HEADS: Synonyms = {
  external_id: [
    'id',
    'codigo',
    'codigo do cliente',
    'codigo cliente',
    'codigo do fornecedor',
    'codigo fornecedor',
    'cod',
    'codigo de integracao',
    'customer code',
    'customer id',
    'square customer id',
    'reference id',
  ],
  name: [
    'nome/razao social',
    'razao social/nome',
    'nome ou razao social',
    'razao social',
    'nome completo',
    'nome do cliente',
    'nome cliente',
    'nome do fornecedor',
    'customer name',
    'full name',
    'name',
    'cliente',
    'fornecedor',
    'first name',
    'primeiro nome',
    'nome/razao',
    'razao',
    'nome do contato',
    'nome ou fantasia',
    'billing first name',
  ],
  person_type: ['tipo pessoa', 'pessoa', 'tipo'],
  document: [
    'cpf/cnpj',
    'cnpj/cpf',
    'cnpj ou cpf',
    'cpf cnpj',
    'cnpj cpf',
    'cpf e cnpj',
    'cpf',
    'cnpj',
    'documento',
    'numero do documento',
    'tax id',
    'document',
    'doc',
    'cpf/cnpj do cliente',
    'cpf ou cnpj do cliente',
    'cnpj/cpf do fornecedor',
    'n documento',
  ],
  phone: [
    'telefone 1',
    'telefone principal',
    'telefone comercial',
    'telefone fixo',
    'telefone celular',
    'telefone/celular',
    'fone',
    'fone/celular',
    'tel',
    'celular',
    'celular/whatsapp',
    'cel',
    'whatsapp',
    'phone',
    'phone number',
    'billing phone',
    'mobile',
    'mobile phone',
    'telefone1',
    'telefone 01',
    'fone 1',
    'fone1',
    'tel 1',
    'celular 1',
    'telefone contato',
    'telefone de contato',
    'contato telefone',
  ],
  email: ['email', 'email address', 'billing email', 'e mail principal', 'endereco de email', 'endereco de e mail'],
  state_registration: ['ie', 'inscr estadual', 'insc estadual'],
  ie_indicator: ['indicador ie', 'contribuinte', 'tipo de contribuinte'],
  notes: ['observacao', 'obs', 'observacoes do contato', 'anotacoes', 'notes', 'note', 'memo'],
  last_name: ['last name', 'surname', 'ultimo nome', 'billing last name'],
  area_code: ['area code'],
  'address.zip': ['codigo postal', 'postal code', 'zip', 'zip code', 'postcode', 'billing postcode'],
  'address.street': [
    'logradouro',
    'endereco',
    'street',
    'street address',
    'street address 1',
    'address',
    'address 1',
    'address line 1',
    'billing address 1',
  ],
  'address.number': ['num', 'no', 'n°', 'numero do endereco', 'number'],
  'address.complement': ['complement', 'address 2', 'address line 2', 'street address 2', 'billing address 2'],
  'address.district': ['district', 'neighborhood'],
  'address.city': ['municipio', 'localidade', 'city', 'billing city'],
  'address.state': ['estado', 'state', 'province', 'billing state'],
}
