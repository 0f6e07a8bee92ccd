import { useState } from 'preact/hooks'
import { formatCents, formatUnits, toCents, toThousandths } from './amounts.ts'
import { say } from './context.ts'
import { Button, Dialog, useKeys, useTill } from './parts.tsx'
import { QrCode } from './qr-code.tsx'
import { isSale, type Recorded, type SaleElement } from './records.ts'
import { cancelSale, isCancelled, newSale } from './selling.ts'
import { takeUpdate } from './updates.ts'

/** The sale that was made, on the screen and on paper. */
export function ReceiptScreen({ recordKey, codes }: { recordKey: string; codes: readonly string[] }) {
  const [till, { records, current }] = useTill()
  const [isAsking, setAsking] = useState(false)
  const sale = records.filter(isSale).find(({ key }) => key === recordKey)
  const next = () => newSale(till, takeUpdate)
  const print = () => (globalThis.print ? globalThis.print() : say(till, 'Este navegador não imprime.', true))
  useKeys({ Enter: next, F2: next, F7: print })
  if (!sale) return null
  const cancelled = isCancelled(records, sale)
  return (
    <main class="done">
      <div class="actions">
        <Button kind="main" onClick={next} hotkey="Enter">
          Nova venda
        </Button>
        <Button onClick={print} hotkey="F7">
          Imprimir
        </Button>
        {!cancelled && <Button onClick={() => setAsking(true)}>Cancelar venda</Button>}
      </div>
      {sale.element.change > 0 && !cancelled && (
        <p class="sum change">
          <span>Troco</span> <output>{formatCents(toCents(sale.element.change))}</output>
        </p>
      )}
      <Receipt sale={sale} codes={codes} isCancelled={cancelled} />
      {isAsking && (
        <Dialog title={`Cancelar a venda ${sale.element.till.number}?`} onClose={() => setAsking(false)}>
          <p>Devolva {formatCents(toCents(sale.element.total))} ao cliente. Esta ação não pode ser desfeita.</p>
          {sale.userId !== current?.userId && (
            <p>
              A venda é de outra pessoa. Se o seu perfil não cancela vendas de outros, o cancelamento espera em Caixas,
              no painel, e a venda continua valendo até lá.
            </p>
          )}
          <Button kind="bad" onClick={() => cancelSale(till, sale)}>
            Sim, cancelar venda
          </Button>
          <Button onClick={() => setAsking(false)}>Voltar</Button>
        </Dialog>
      )}
    </main>
  )
}

interface ReceiptProps {
  readonly sale: Recorded<SaleElement>
  readonly codes: readonly string[]
  readonly isCancelled: boolean
}

function Receipt({ sale: { element, names }, codes, isCancelled }: ReceiptProps) {
  const [, { catalog, config, device, preferences }] = useTill()
  const types = config?.payment_types ?? []
  const nameOf = (id: number) => types.find((type) => type.id === id)?.name ?? 'Pagamento'
  const gross = element.items.reduce((sum, { total }) => sum + toCents(total), 0)
  const off = gross - toCents(element.total)
  return (
    <article class={`receipt paper-${preferences.paper}`} aria-label="Comprovante">
      <h1>{config?.company.name}</h1>
      <p>
        {config?.company.cnpj && `CNPJ ${config.company.cnpj} · `}Caixa {device?.number} · Venda {element.till.number}
        <br />
        {new Date(element.created_at).toLocaleString('pt-BR')}
      </p>
      {isCancelled && <p class="alarm">VENDA CANCELADA</p>}
      <table>
        <tbody>
          {element.items.map((item, line) => (
            <tr key={line}>
              <td>
                {names[line]}{' '}
                <small>
                  {formatUnits(toThousandths(item.quantity), catalog.unitOf(item))} × {formatCents(toCents(item.price))}
                </small>
              </td>
              <td>{formatCents(toCents(item.total))}</td>
            </tr>
          ))}
          {off > 0 && <Row name="Desconto" cents={-off} />}
          <Row name="Total" cents={toCents(element.total)} isSum />
          {element.payments.map((payment, at) => (
            <Row
              key={at}
              name={`${nameOf(payment.payment_type_id)}${payment.voucher ? ` ${payment.voucher}` : ''}`}
              cents={toCents(payment.amount)}
            />
          ))}
          {element.change > 0 && <Row name="Recebido" cents={toCents(element.amount_received)} />}
          {element.change > 0 && <Row name="Troco" cents={toCents(element.change)} isSum />}
        </tbody>
      </table>
      {codes.map((code) => (
        <QrCode key={code} text={code} label="Código da venda" />
      ))}
      <p>Sem valor fiscal</p>
    </article>
  )
}

const Row = ({ name, cents, isSum = false }: { name: string; cents: number; isSum?: boolean }) => (
  <tr class={isSum ? 'sum' : ''}>
    <td>{name}</td>
    <td>{formatCents(cents)}</td>
  </tr>
)
