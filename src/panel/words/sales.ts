import type { OfflineSaleWarning, SaleObject } from '#projections/sales.ts'
import * as format from '../format.ts'
import type { Tone } from '../ui/parts.tsx'

export const SALE_STATUSES: Readonly<Record<SaleObject['status'], readonly [name: string, tone: Tone]>> = {
  completed: ['Concluída', 'good'],
  cancelled: ['Cancelada', 'bad'],
}

/** What is odd about a sale that a till has uploaded. `product` is what the item is called. */
export function warningText({ code, found, expected }: OfflineSaleWarning, product: string, timezone: string): string {
  const [seen, known] = [found ?? '', expected ?? '']
  switch (code) {
    case 'negative_stock':
      return `O estoque ficou negativo (${format.quantity(seen)}): ${product}.`
    case 'price_differs':
      return `Vendido por ${format.money(seen)}, mas o preço do catálogo era ${format.money(known)}: ${product}.`
    case 'product_deactivated':
      return `Desativado no catálogo: ${product}.`
    case 'payment_pending':
      return `O pagamento em ${seen} está pendente, mas não é a prazo.`
    case 'change_without_cash':
      return `Há troco de ${format.money(seen)} sem pagamento em dinheiro.`
    case 'created_at_in_future': {
      const [sold, came] = [format.dateTime(seen, timezone), format.dateTime(known, timezone)]
      return `A venda tem data de ${sold}, mas chegou em ${came}: confira o relógio do caixa.`
    }
  }
}
