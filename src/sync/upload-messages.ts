import type { Refusal } from '#domain/refusal.ts'
import type { OfflineSaleWarning } from '#projections/sales.ts'

/** What an upload says in words, for the people at the counter. */

const SALES = (count: number): string => `${count} ${count === 1 ? 'venda' : 'vendas'}`

/** One sentence with the counts of an upload (spec, Endpoints). */
export function uploadMessage({
  created,
  duplicate,
  error,
}: Record<'created' | 'duplicate' | 'error', number>): string {
  const processed = created + duplicate + error
  const parts = [`${created} registrada${created === 1 ? '' : 's'}`]
  if (duplicate > 0) parts.push(`${duplicate} já enviada${duplicate === 1 ? '' : 's'} antes`)
  parts.push(`${error} com erro`)
  return `${SALES(processed)} processada${processed === 1 ? '' : 's'}: ${parts.join(', ')}.`
}

/** Why a sale was refused, and which of its fields are wrong. */
export function refusalText({ refused, details }: Refusal): { message: string; errors: Record<string, string[]> } {
  if (refused === 'duplicate_resource') {
    const errors = { offline_id: [`já usado pela venda ${details?.conflicting_id}, que é diferente`] }
    return { message: 'Outra venda já foi enviada com este offline_id.', errors }
  }
  const { fields } = details as { fields: Record<string, string[]> }
  return { message: 'A venda tem dados inválidos e não foi registrada.', errors: fields }
}

/** A warning as a result shows it: numbers are JSON numbers. */
export function shownWarning({ code, product_id, found, expected }: OfflineSaleWarning): object {
  switch (code) {
    case 'negative_stock':
      return { code, message: `O estoque ficou negativo: ${found}.`, product_id, stock: Number(found) }
    case 'price_differs': {
      const message = `O preço vendido, ${found}, difere do preço do cadastro, ${expected}.`
      return { code, message, product_id, price: Number(found), catalog_price: Number(expected) }
    }
    case 'product_deactivated':
      return { code, message: 'O produto está desativado no cadastro.', product_id }
    case 'payment_pending':
      return { code, message: `O pagamento em ${found} está pendente, mas não é a prazo.` }
    case 'change_without_cash':
      return { code, message: `Há troco de ${found} sem pagamento em dinheiro.` }
    case 'created_at_in_future':
      return { code, message: `A data da venda, ${found}, está no futuro: confira o relógio do caixa.` }
  }
}
