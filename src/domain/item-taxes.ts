import type * as z from 'zod'
import { limitedText } from './text.ts'

/** Tax fields of a catalog item for fiscal documents, beside GTIN, NCM and CEST; all texts. */
export const ITEM_TAX_FIELDS = [
  'origin',
  'cfop',
  'icms_cst',
  'csosn',
  'pis_cst',
  'cofins_cst',
  'cbenef',
  'ibs_cbs_cst',
  'ibs_cbs_class',
] as const

type ItemTaxField = (typeof ITEM_TAX_FIELDS)[number]

const code = (form: RegExp, message: string) => limitedText(40, message).regex(form, { error: message, abort: true })

const cst = (of: string) => code(/^\d{2}$/, `deve ser um CST ${of} de 2 dígitos, como "01"`)

/** Shapes of the tax fields, by the layouts of NF-e and NFC-e. */
export const itemTaxShape = {
  origin: code(/^[0-8]$/, 'deve ser a origem da mercadoria, um dígito de 0 a 8').nullish(),
  cfop: code(/^[1-35-7](\d{3}|\.\d{3})$/, 'deve ser um CFOP de 4 dígitos, como "5102"')
    .overwrite((text) => text.replace('.', ''))
    .nullish(),
  icms_cst: code(/^\d{2}$/, 'deve ser um CST do ICMS de 2 dígitos, como "00"').nullish(),
  csosn: code(/^\d{3}$/, 'deve ser um CSOSN de 3 dígitos, como "102"').nullish(),
  pis_cst: cst('do PIS').nullish(),
  cofins_cst: cst('da COFINS').nullish(),
  cbenef: limitedText(40, 'deve ser um código de benefício fiscal')
    .trim()
    .toUpperCase()
    .regex(
      /^([A-Z0-9]{8}|[A-Z0-9]{10}|SEM CBENEF)$/,
      'deve ser um código de benefício fiscal de 8 ou 10 letras e dígitos, ou "SEM CBENEF"',
    )
    .nullish(),
  ibs_cbs_cst: code(/^\d{3}$/, 'deve ser um CST de IBS e CBS de 3 dígitos, como "000"').nullish(),
  ibs_cbs_class: code(/^\d{6}$/, 'deve ser uma classificação tributária (cClassTrib) de 6 dígitos').nullish(),
} satisfies Record<ItemTaxField, z.ZodType>

type ItemTaxes = { readonly [F in ItemTaxField]?: string | null | undefined }

/** Contradiction between tax fields, with the field to name; null if there is none (ITEM-21). */
export function itemTaxProblem({ icms_cst, csosn, ibs_cbs_cst, ibs_cbs_class }: ItemTaxes) {
  if (icms_cst && csosn) return { field: 'csosn', message: 'não pode ser informado junto com icms_cst' } as const
  if (ibs_cbs_cst && ibs_cbs_class && !ibs_cbs_class.startsWith(ibs_cbs_cst))
    return { field: 'ibs_cbs_class', message: `deve começar com o CST de IBS e CBS, "${ibs_cbs_cst}"` } as const
  return null
}

/** Codes for fiscal documents that a sale's line keeps as they were when sold. */
export const FISCAL_CODES = ['gtin', 'ncm', 'cest', ...ITEM_TAX_FIELDS] as const

/** Codes of an item for fiscal documents. Fields without a value have no key. */
export type FiscalCodes = { [F in (typeof FISCAL_CODES)[number]]?: string }

export function fiscalCodesOf(item: { readonly [F in (typeof FISCAL_CODES)[number]]?: string | null }): FiscalCodes {
  const codes: FiscalCodes = {}
  for (const field of FISCAL_CODES) {
    const code = item[field]
    if (code) codes[field] = code
  }
  return codes
}
