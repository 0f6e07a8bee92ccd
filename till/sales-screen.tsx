import { useState } from 'preact/hooks'
import { formatCents, formatUnits, parseQuantity, toCents } from './amounts.ts'
import { show } from './context.ts'
import { Button, Dialog, Field, Form, useKeys, useTill } from './parts.tsx'
import { showReceipt } from './receipts.ts'
import { isSale, type Recorded, type SaleElement } from './records.ts'
import { giveBack, isCancelled, returnable, returnOf, setCart, unpark, vouchersOf } from './selling.ts'
import { refusedOf } from './state.ts'
import { resendRefused } from './till-login.ts'

const SHOWN = 100

/** Parked sales, sales of this device, and what the service has refused. */
export function SalesScreen() {
  const [till, state] = useTill()
  const { records, parked, cart } = state
  const [returning, setReturning] = useState<Recorded<SaleElement> | null>(null)
  const [text, setText] = useState('')
  const back = () => show(till, { name: 'sell' })
  useKeys({ Escape: back })
  const sales = records
    .filter(isSale)
    .filter(({ element }) => element.status === 'completed' && String(element.till.number).startsWith(text.trim()))
    .toReversed()
    .slice(0, SHOWN)
  const refused = refusedOf(state)
  const vouchers = vouchersOf(records).slice(0, SHOWN)
  return (
    <main>
      <h1>Vendas deste caixa</h1>
      <Button onClick={back} hotkey="Esc">
        Voltar
      </Button>
      {parked.length > 0 && <h2>Guardadas</h2>}
      <ul class="list">
        {parked.map(({ name, at }, place) => (
          <li key={at}>
            <span>
              {name} · {new Date(at).toLocaleTimeString('pt-BR')}
            </span>
            <Button isDisabled={cart.lines.length > 0} onClick={() => unpark(till, place)}>
              Retomar
            </Button>
          </li>
        ))}
      </ul>
      {refused.records.length + refused.drafts.length > 0 && <Refused />}
      {vouchers.length > 0 && <h2>Vales</h2>}
      <ul class="list">
        {vouchers.map(({ voucher, amount, at, until }) => (
          <li key={voucher}>
            <span>
              {voucher} · {new Date(at).toLocaleString('pt-BR')} · <b>{formatCents(amount)}</b>
            </span>
            <Button
              label={`Ver vale ${voucher}`}
              onClick={() => show(till, { name: 'voucher', code: voucher, until, cents: amount, sale: '' })}
            >
              Ver
            </Button>
          </li>
        ))}
      </ul>
      <h2>Feitas</h2>
      <Field label="Número da venda" value={text} onInput={setText} mode="numeric" />
      <ul class="list">
        {sales.map((sale) => (
          <SaleRow key={sale.key} sale={sale} onReturn={() => setReturning(sale)} />
        ))}
        {sales.length === 0 && <li>Nenhuma venda.</li>}
      </ul>
      {returning && <ReturnDialog sale={returning} onClose={() => setReturning(null)} />}
    </main>
  )
}

function SaleRow({ sale, onReturn }: { sale: Recorded<SaleElement>; onReturn(): void }) {
  const [till, { records }] = useTill()
  const { element, state } = sale
  const cancelled = isCancelled(records, sale)
  const sent = { waiting: 'a enviar', sent: 'enviada', refused: 'recusada' }[state]
  return (
    <li>
      <span>
        Venda {element.till.number} · {new Date(element.created_at).toLocaleString('pt-BR')} ·{' '}
        <b>{formatCents(toCents(element.total))}</b> · {cancelled ? 'cancelada' : sent}
      </span>
      <Button label={`Ver venda ${element.till.number}`} onClick={() => showReceipt(till, sale)}>
        Ver
      </Button>
      {!cancelled && (
        <Button label={`Devolver ou trocar venda ${element.till.number}`} onClick={onReturn}>
          Devolver ou trocar
        </Button>
      )}
    </li>
  )
}

/** What the service did not take is shown until a person has resolved it; it stays on the device. */
function Refused() {
  const [till, state] = useTill()
  const { records, drafts } = refusedOf(state)
  return (
    <section>
      <h2>Recusadas pelo serviço</h2>
      <ul class="list">
        {records.map(({ key, element, note }) => (
          <li key={key}>
            <span class="alarm">
              Registro {element.till.number}: {note}
            </span>
          </li>
        ))}
        {drafts.map(({ offlineId, note }) => (
          <li key={offlineId}>
            <span class="alarm">Cadastro: {note}</span>
          </li>
        ))}
      </ul>
      <Button onClick={() => resendRefused(till)}>Enviar de novo</Button>
    </section>
  )
}

function ReturnDialog({ sale, onClose }: { sale: Recorded<SaleElement>; onClose(): void }) {
  const [till, { catalog, records, cart, config }] = useTill()
  const lines = returnable(records, sale)
  const unitOf = (line: number) => catalog.unitOf(sale.element.items[line] ?? {})
  const [texts, setTexts] = useState<readonly string[]>(lines.map(() => ''))
  const [error, setError] = useState('')
  const quantities = () => new Map(texts.map((text, line) => [line, parseQuantity(text) ?? 0]))
  const returned = returnOf(records, sale, quantities())
  const take = (act: (goods: NonNullable<typeof returned>) => unknown) => {
    const isTooMuch = lines.some(({ line, left }) => (quantities().get(line) ?? 0) > left)
    if (!returned || isTooMuch) return setError('Informe quantas unidades voltam, no máximo as que restam.')
    return act(returned)
  }
  const exchange = () =>
    take((goods) => {
      setCart(till, { ...cart, returned: goods, customer: cart.customer ?? goods.customer })
      show(till, { name: 'sell' })
    })
  const refunds = (config?.payment_types ?? []).filter(
    ({ kind, is_cash }) => is_cash || ['exchange_credit', 'pix', 'card'].includes(kind),
  )
  return (
    <Dialog title={`Devolver ou trocar: venda ${sale.element.till.number}`} onClose={onClose}>
      <Form onSubmit={exchange}>
        {lines.map(({ line, name, left }) => (
          <Field
            key={line}
            label={`${name} (restam ${formatUnits(left, unitOf(line))})`}
            value={texts[line] ?? ''}
            mode="decimal"
            onInput={(text) => setTexts(texts.map((each, at) => (at === line ? text : each)))}
          />
        ))}
        <p class="sum">
          <span>Valor</span> <output>{formatCents(returned?.value ?? 0)}</output>
        </p>
        {error !== '' && <p role="alert">{error}</p>}
        <button type="submit" class="button main">
          Trocar por outros itens
        </button>
        {refunds.map((type) => (
          <Button key={type.id} onClick={() => take((goods) => giveBack(till, goods, type))}>
            Devolver em {type.name}
          </Button>
        ))}
        <Button onClick={onClose}>Voltar</Button>
      </Form>
    </Dialog>
  )
}
