import { formatCents } from './amounts.ts'
import { show } from './context.ts'
import { Button, useKeys, useTill } from './parts.tsx'
import { QrCode } from './qr-code.tsx'
import { showReceipt } from './receipts.ts'
import { isSale } from './records.ts'
import { printedDay } from './selling.ts'

/** Credit of a person without a name: the paper is the right. After an exchange the receipt of the goods comes next. */
export function VoucherScreen({
  code,
  until,
  cents,
  sale,
}: Readonly<Record<'code' | 'until' | 'sale', string> & { cents: number }>) {
  const [till, { config, preferences, device, records }] = useTill()
  const next = () => {
    const made = records.filter(isSale).find(({ key }) => key === sale)
    return made ? showReceipt(till, made) : show(till, { name: 'sell' })
  }
  const print = () => globalThis.print()
  useKeys({ Enter: next, F2: next, F7: print })
  return (
    <main class="done">
      <div class="actions">
        <Button kind="main" onClick={print} hotkey="F7">
          Imprimir
        </Button>
        <Button onClick={next} hotkey="Enter">
          {sale === '' ? 'Nova venda' : 'Comprovante da troca'}
        </Button>
      </div>
      <article class={`receipt paper-${preferences.paper}`} aria-label="Vale-troca">
        <h1>{config?.company.name}</h1>
        <p>
          Caixa {device?.number} · {new Date(till.now()).toLocaleString('pt-BR')}
        </p>
        <p class="value">Vale-troca de {formatCents(cents)}</p>
        <p>
          <b>{code}</b>
        </p>
        <QrCode text={code} label="Código do vale" />
        {until !== '' && <p>Válido até {printedDay(until)}.</p>}
        <p>Vale como pagamento nesta loja. Guarde este papel. Sem valor fiscal.</p>
      </article>
    </main>
  )
}
