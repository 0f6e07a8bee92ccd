import * as z from 'zod'
import { Cest, Gtin, itemTaxShape, Ncm } from '#domain/fiscal-values.ts'
import { Money, StockQuantity } from '#domain/money.ts'
import { Barcode, MetadataInput } from '#domain/record-values.ts'
import { boundedText, ExternalId, Id, NewExternalId, nameText, orDefault, orNone } from '#domain/text.ts'
import { ITEM_TYPES } from '#events/catalog-events.ts'
import {
  Amount,
  ContractMetadata,
  ContractRecordId,
  type DefinitionOf,
  filterField,
  NullableText,
  optionalField,
  QueryFlag,
  QueryId,
  QueryInstant,
  type RecordedFields,
  requiredField,
  serviceField,
  ThreeDecimals,
  Timestamp,
} from './field.ts'

const ITEM_TYPE_NAMES: Readonly<Record<(typeof ITEM_TYPES)[number], string>> = {
  product: 'Produto',
  service: 'Serviço',
}

const ItemType = z.enum(ITEM_TYPES)

/** Type of an item without one. */
export const DEFAULT_ITEM_TYPE = 'product'

/** Origins of goods, as in fiscal documents. */
export const GOODS_ORIGIN_NAMES: Readonly<Record<string, string>> = {
  0: '0 – Nacional',
  1: '1 – Importada diretamente',
  2: '2 – Importada, comprada no mercado interno',
  3: '3 – Nacional, com mais de 40% de conteúdo importado',
  4: '4 – Nacional, por processo produtivo básico',
  5: '5 – Nacional, com até 40% de conteúdo importado',
  6: '6 – Importada diretamente, sem similar nacional',
  7: '7 – Importada, comprada no mercado interno, sem similar nacional',
  8: '8 – Nacional, com mais de 70% de conteúdo importado',
}

const { origin: Origin, ...taxes } = itemTaxShape

const taxField = (name: keyof typeof taxes, label: string, hint: string, description: string) =>
  optionalField('code', label, taxes[name], { hint, description })

export const VARIANT_DEFINITIONS = {
  size: optionalField('text', 'Tamanho', boundedText(30).nullish(), { description: 'Tamanho, como `M` ou `42`.' }),
  color: optionalField('text', 'Cor', boundedText(30).nullish(), { description: 'Cor.' }),
}

const Variant = z
  .strictObject({ size: VARIANT_DEFINITIONS.size.whole, color: VARIANT_DEFINITIONS.color.whole })
  .refine(({ size, color }) => (size ?? color ?? null) !== null, 'informe size, color ou ambos')
  .transform(({ size, color }) => ({ size: size ?? null, color: color ?? null }))
  .meta({ id: 'VariantInput' })

const ShownVariant = z.strictObject({ size: NullableText, color: NullableText }).meta({ id: 'Variant' })

export const ITEM_TAX_DEFINITIONS = {
  origin: {
    ...optionalField('coded_choice', 'Origem da mercadoria', Origin, {
      description: 'Origem da mercadoria, de `0` a `8`.',
    }),
    names: GOODS_ORIGIN_NAMES,
  },
  cfop: taxField('cfop', 'CFOP', 'Ex.: 5102', 'CFOP da venda, 4 dígitos; aceita também com ponto (`5.102`).'),
  icms_cst: taxField(
    'icms_cst',
    'CST do ICMS',
    'Regime normal. Ex.: 00',
    'CST do ICMS (regime normal), 2 dígitos; não se combina com `csosn`.',
  ),
  csosn: taxField(
    'csosn',
    'CSOSN',
    'Simples Nacional. Ex.: 102',
    'CSOSN (Simples Nacional), 3 dígitos; não se combina com `icms_cst`.',
  ),
  pis_cst: taxField('pis_cst', 'CST do PIS', 'Ex.: 01', 'CST do PIS, 2 dígitos.'),
  cofins_cst: taxField('cofins_cst', 'CST da COFINS', 'Ex.: 01', 'CST da COFINS, 2 dígitos.'),
  cbenef: taxField(
    'cbenef',
    'Código de benefício fiscal',
    'cBenef, se houver.',
    'Código de benefício fiscal da UF: 8 ou 10 letras e dígitos, ou `SEM CBENEF`.',
  ),
  ibs_cbs_cst: taxField('ibs_cbs_cst', 'CST de IBS e CBS', 'Ex.: 000', 'CST de IBS e CBS, 3 dígitos.'),
  ibs_cbs_class: taxField(
    'ibs_cbs_class',
    'Classificação tributária',
    'cClassTrib, de IBS e CBS. Ex.: 000001',
    'Classificação tributária de IBS e CBS (cClassTrib), 6 dígitos; começa com `ibs_cbs_cst`.',
  ),
}

/** Fields that the shop keeps although an integration replaces the item without them: absent is unchanged in a PUT too. */
export const ITEM_SHOP_DEFINITIONS = {
  min_stock: optionalField('quantity', 'Estoque mínimo', StockQuantity.nullish(), {
    answer: ThreeDecimals.nullable(),
    hint: 'Com esta quantidade ou menos, o produto aparece em Reposição.',
    description: 'Estoque mínimo; `null` se não tem.',
  }),
  /** A variant of another item, in a size and a colour. */
  parent_id: optionalField('reference', 'Número do produto da variação', Id.nullish(), {
    answer: ContractRecordId.nullable(),
    description: 'Item do qual este é uma variação.',
  }),
  variant: {
    ...optionalField('group', 'Variação', Variant.nullish(), {
      answer: ShownVariant.nullable(),
      description: 'Tamanho e cor de uma variação.',
    }),
    members: VARIANT_DEFINITIONS,
  },
  metadata: optionalField('metadata', 'Metadados', MetadataInput.nullish(), { answer: ContractMetadata }),
}

/** Fields that a PUT clears if it does not have them. */
export const ITEM_OWN_DEFINITIONS = {
  external_id: optionalField('code', 'Código externo', NewExternalId.nullish(), {
    hint: 'Código deste cadastro em outro sistema (opcional).',
  }),
  type: {
    ...requiredField('choice', 'Tipo', orDefault(ItemType, DEFAULT_ITEM_TYPE), ItemType, {
      description: '`product` (produto) ou `service` (serviço).',
    }),
    change: ItemType.nullish(),
    names: ITEM_TYPE_NAMES,
  },
  name: requiredField('text', 'Nome', nameText(120), z.string()),
  sku: optionalField('code', 'SKU', orNone(boundedText(60)), { description: 'Código interno do produto.' }),
  barcode: optionalField('code', 'Código de barras', Barcode.nullish(), {
    description: 'Código de barras, único entre os itens ativos; o que não é um GTIN válido é aceito com aviso.',
  }),
  category_id: optionalField('record', 'Categoria', Id.nullish(), {
    answer: ContractRecordId.nullable(),
    description: 'Categoria do item; `null` também enquanto ela está excluída.',
  }),
  unit: optionalField('text', 'Unidade', boundedText(10).nullish(), {
    hint: 'Ex.: UN, KG, CX',
    description: 'Unidade, como `UN` ou `KG`.',
  }),
  price: requiredField('money', 'Preço', Money, Amount, { description: 'Preço de lista.' }),
  cost: optionalField('money', 'Custo', Money.nullish(), {
    answer: Amount.nullable(),
    description: 'Custo: o da última entrada.',
  }),
  gtin: optionalField('code', 'GTIN', Gtin.nullish(), {
    hint: 'Para a nota fiscal. Deixe em branco se não tiver.',
    description:
      'GTIN (EAN) do produto para documentos fiscais: 8, 12, 13 ou 14 dígitos com dígito verificador; `null` se não tem; `SEM GTIN` é aceito e vale `null`.',
  }),
  ncm: optionalField('code', 'NCM', orNone(Ncm), {
    hint: 'Ex.: 0901.21.00',
    description: 'Classificação NCM, 8 dígitos; aceita também com pontos (`0901.21.00`).',
  }),
  cest: optionalField('code', 'CEST', orNone(Cest), {
    hint: 'Ex.: 17.096.00',
    description: 'Código CEST da substituição tributária, 7 dígitos; aceita também com pontos (`17.096.00`).',
  }),
  ...ITEM_TAX_DEFINITIONS,
}

export const ITEM_FIELDS = {
  ...ITEM_OWN_DEFINITIONS,
  ...ITEM_SHOP_DEFINITIONS,
  /** New absolute quantity. Null: stock is not tracked; absent: unchanged. */
  stock: optionalField('quantity', 'Estoque', StockQuantity.nullish(), {
    answer: ThreeDecimals.nullable(),
    description: 'Quantidade em estoque; `null` sem controle de estoque. Enviada, passa a ser a quantidade.',
  }),
} satisfies DefinitionOf<Omit<RecordedFields<'CatalogItemCreated'>, 'approved_by' | 'picture_url'>>

/** What the service adds. */
export const ITEM_STATE = {
  picture_url: serviceField('text', 'Imagem', NullableText, {
    description: 'Endereço da imagem, relativo ao do serviço; `null` sem imagem.',
  }),
  stock_updated_at: serviceField('moment', 'Estoque movimentado em', Timestamp.nullable(), {
    description: 'Último movimento do estoque.',
  }),
  created_at: serviceField('moment', 'Cadastro', Timestamp),
  updated_at: serviceField('moment', 'Última alteração', Timestamp),
  deleted_at: serviceField('moment', 'Excluído em', Timestamp.nullable()),
  category_name: serviceField('text', 'Categoria', NullableText, { description: 'Nome da categoria.' }),
}

/** `q` matches words of the item, `name` a substring; the others are exact. */
export const ITEM_FILTERS = {
  q: filterField('text', 'Busca', boundedText(120), { hint: 'Palavras do nome, SKU, código de barras ou externo.' }),
  name: filterField('text', 'Nome', boundedText(120)),
  sku: filterField('code', 'SKU', boundedText(60)),
  barcode: filterField('code', 'Código de barras', boundedText(60)),
  category_id: filterField('record', 'Categoria', QueryId),
  type: { ...filterField('choice', 'Tipo', ItemType), names: ITEM_TYPE_NAMES },
  external_id: filterField('code', 'Código externo', ExternalId),
  /** Of its movements, inclusive. */
  stock_updated_since: filterField('moment', 'Estoque movimentado desde', QueryInstant, {
    description: 'Só itens cujo estoque se moveu desde este momento, inclusive, na ordem das mudanças do item.',
  }),
  /** A stock of the minimum or less, or of zero without a minimum. */
  low_stock: filterField('yes_or_no', 'Acabando', QueryFlag, {
    description: 'Só o que está acabando: no máximo o estoque mínimo, ou zero sem ele.',
  }),
  parent_id: filterField('record', 'Variações de', QueryId),
}

/** For people. */
export const ITEM_SEARCH = {
  q: ITEM_FILTERS.q,
  category_id: ITEM_FILTERS.category_id,
  type: ITEM_FILTERS.type,
  out_of_stock: filterField('yes_or_no', 'Sem estoque', QueryFlag),
  low_stock: ITEM_FILTERS.low_stock,
  state: { ...filterField('choice', 'Situação', z.literal('inactive')), names: { inactive: 'Desativados' } },
}

export const CATEGORY_FIELDS = {
  external_id: optionalField('code', 'Código externo', NewExternalId.nullish(), {
    hint: 'Código desta categoria em outro sistema (opcional).',
  }),
  name: requiredField('text', 'Nome', nameText(80), z.string()),
} satisfies DefinitionOf<RecordedFields<'CategoryCreated'>>

export const CATEGORY_STATE = {
  created_at: ITEM_STATE.created_at,
  updated_at: ITEM_STATE.updated_at,
  deleted_at: ITEM_STATE.deleted_at,
}

export const CATEGORY_FILTERS = {
  name: filterField('text', 'Nome', boundedText(80)),
  external_id: filterField('code', 'Código externo', ExternalId),
}
