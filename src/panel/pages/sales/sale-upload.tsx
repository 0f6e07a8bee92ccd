import { formatDateTime, formatMoney, formatQuantity } from '#domain/brazilian-format.ts'
import type { OfflineSaleWarning } from '#projections/offline-sales.ts'
import type { SaleObject } from '#projections/sales.ts'
import type { SaleUpload } from '#queries/sales/sales.ts'
import { link } from '../../link.ts'
import { Card, Facts } from '../../ui/parts.tsx'

interface UploadProps {
  readonly sale: SaleObject
  readonly upload: SaleUpload
  readonly timezone: string
  /** The uploading user. */
  readonly sender: string
}

/** How a till sent a sale, with the warnings of its upload. */
export const SaleUploadCard = ({ sale, upload, timezone, sender }: UploadProps) => (
  <Card title="Envio do caixa">
    <Facts
      facts={[
        ['Enviada por', sender],
        ['Recebida em', formatDateTime(upload.recorded_at, timezone)],
      ]}
    />
    {upload.warnings.length > 0 ? (
      <>
        <h3>Avisos</h3>
        <Warnings sale={sale} upload={upload} timezone={timezone} />
      </>
    ) : (
      <p class="hint">Sem avisos.</p>
    )}
  </Card>
)

export const SaleLink = ({ id }: { readonly id: number }) => <a href={link(`/vendas/${id}`)}>{`Venda ${id}`}</a>

/** Warnings of an uploaded sale. `product` is the item's name. */
function warningText(
  { code, product_id, found, expected }: OfflineSaleWarning,
  product: string,
  timezone: string,
): string {
  const [seen, known] = [found ?? '', expected ?? '']
  switch (code) {
    case 'negative_stock':
      return `O estoque ficou negativo (${formatQuantity(seen)}): ${product}.`
    case 'quantity_not_whole':
      return `Quantidade não inteira (${formatQuantity(seen)}) de um produto vendido por unidade: ${product}.`
    case 'price_differs':
      return `Vendido por ${formatMoney(seen)}, mas o preço do catálogo era ${formatMoney(known)}: ${product}.`
    case 'product_deactivated':
      return `Desativado no catálogo: ${product}.`
    case 'payment_pending':
      return `O pagamento em ${seen} está pendente, mas não é a prazo.`
    case 'change_without_cash':
      return `Há troco de ${formatMoney(seen)} sem pagamento em dinheiro.`
    case 'created_at_in_future': {
      const [sold, came] = [formatDateTime(seen, timezone), formatDateTime(known, timezone)]
      return `A venda tem data de ${sold}, mas chegou em ${came}: confira o relógio do caixa.`
    }
    case 'session_of_other':
      return `A sessão de caixa ${seen} foi aberta por outro usuário.`
    case 'created_at_old':
      return `A venda tem data de ${formatDateTime(seen, timezone)}, antiga demais: confira o relógio do caixa.`
    case 'cancelled_at_in_future':
      return `O cancelamento tem data de ${formatDateTime(seen, timezone)}, no futuro: confira o relógio do caixa.`
    case 'cancelled_at_before_sale':
      return `O cancelamento tem data de ${formatDateTime(seen, timezone)}, antes da venda.`
    case 'line_total_rounded':
      return `Total de ${formatMoney(seen)} por arredondamento, em vez de ${formatMoney(known)}: ${product}.`
    case 'line_discount':
      return `Desconto de ${formatMoney(seen)} no item: ${product}.`
    case 'discount':
      return `Desconto de ${formatMoney(seen)} na venda.`
    case 'total_rounded':
      return `Total de ${formatMoney(seen)} por arredondamento; os itens somavam ${formatMoney(known)}.`
    case 'amount_received_differs':
      return `Valor recebido de ${formatMoney(seen)}, mas com o total e o troco seria de ${formatMoney(known)}.`
    case 'discount_limit_exceeded':
      return `Desconto de ${formatMoney(seen)}, acima do limite do usuário, ${formatMoney(known)} por venda e por dia.`
    case 'payment_already_used':
      return `O pagamento ${seen} já está em outra venda: `
    case 'credit_exceeded':
      return `Crédito de troca de ${formatMoney(seen)}, mas o saldo do cliente era ${formatMoney(known)}.`
    case 'customer_unknown':
      return `O cliente ${seen}, que o caixa informou, não existe.`
    case 'customer_deleted':
      return `O cliente ${seen} está excluído.`
    case 'customer_forgotten':
      return `Os dados pessoais do cliente ${seen} foram excluídos.`
    case 'product_unknown':
      return `O produto ${product_id} não existe no catálogo.`
    case 'payment_type_unknown':
      return `A forma de pagamento ${seen} não existe.`
    case 'recorded_as_is':
      return `Registrada por uma pessoa como foi enviada: ${seen}`
    case 'recorded_corrected':
      return `Corrigida e registrada por uma pessoa: ${seen}`
  }
}

interface WarningsProps {
  readonly sale: Pick<SaleObject, 'items'>
  readonly upload: Pick<SaleUpload, 'warnings'>
  readonly timezone: string
}

/** Warnings to review; null if there are none. */
export const Warnings = ({ sale, upload, timezone }: WarningsProps) =>
  upload.warnings.length === 0 ? null : (
    <ul class="warnings">
      {upload.warnings.map((warning) => {
        const { product_id } = warning
        const item = sale.items.find(({ catalog_item_id }) => catalog_item_id === product_id)
        const text = warningText(warning, item?.description ?? `produto ${product_id}`, timezone)
        const { sale_id } = warning
        return (
          <li key={`${text}${sale_id}`}>
            {text}
            {sale_id !== undefined && <SaleLink id={sale_id} />}
          </li>
        )
      })}
    </ul>
  )
