import type { RefusedSale } from '#queries/sales/offline-sales.ts'
import { money } from '../format.ts'

/** Fields of an uploaded sale, in words of a shop. */
const FIELDS: Readonly<Record<string, string>> = {
  body: 'Venda',
  offline_id: 'Identificação no caixa',
  total: 'Total',
  amount_received: 'Valor recebido',
  change: 'Troco',
  status: 'Situação',
  created_at: 'Data da venda',
  items: 'Itens',
  payments: 'Pagamentos',
}

/** The parts that a sale has several of, and their fields. */
const PARTS: Readonly<Record<string, { readonly name: string; readonly fields: Readonly<Record<string, string>> }>> = {
  items: {
    name: 'Item',
    fields: { product_id: 'produto', quantity: 'quantidade', price: 'preço', total: 'total' },
  },
  payments: {
    name: 'Pagamento',
    fields: { payment_type_id: 'forma de pagamento', amount: 'valor', status: 'situação' },
  },
}

const known = <T>(words: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(words, name) ? words[name] : undefined

/** `items[0].price` becomes `Item 1, preço`; what no till should send keeps its name. */
function uploadedField(path: string): string {
  const [, list = '', position, , field] = /^(\w+)\[(\d{1,6})\](\.(.+))?$/.exec(path) ?? []
  const part = known(PARTS, list)
  if (!part) return known(FIELDS, path) ?? path
  const name = `${part.name} ${Number(position) + 1}`
  return field === undefined ? name : `${name}, ${known(part.fields, field) ?? field}`
}

/** What a message for tills says of amounts, as people write them: `20.00`, but no part of another number, nor what is quoted. */
const AMOUNT = /(?<![\d.,"])\d+\.\d{2}(?!\.?\d|")/g

/** What is wrong with an uploaded sale, one sentence a field. */
export const reasonsIn = (errors: RefusedSale['errors']): string[] =>
  Object.entries(errors).map(
    ([path, messages]) => `${uploadedField(path)}: ${messages.join('; ').replace(AMOUNT, (amount) => money(amount))}`,
  )

/** The first of them, and how many more there are. */
export function reasonOf({ errors, message }: Pick<RefusedSale, 'errors' | 'message'>): string {
  const [first = message, ...more] = reasonsIn(errors)
  return more.length === 0 ? first : `${first} (e mais ${more.length})`
}
