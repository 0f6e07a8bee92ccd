import { useState } from 'preact/hooks'
import { fieldCents, formatCents, parseCents } from './amounts.ts'
import { type CartPayment, changeOf, dueOf, owed, refuseFinish, refusePayment, remainingOf } from './cart.ts'
import { say, show } from './context.ts'
import { CustomerDialog } from './customer-dialog.tsx'
import { Button, Field, Form, useKeys, useTill } from './parts.tsx'
import { pixCode } from './pix-code.ts'
import { QrCode } from './qr-code.tsx'
import type { PaymentType } from './records.ts'
import { finish, judgeVoucher, setCart } from './selling.ts'

const toPayment = ({ id, name, kind, is_cash }: PaymentType, given: number, voucher: string): CartPayment => ({
  typeId: id,
  name,
  kind,
  isCash: is_cash,
  given,
  voucher,
})

/** Takes the money: the chosen form of payment takes what is left, unless another amount is typed. */
export function PayScreen() {
  const [till, { cart, config }] = useTill()
  const { screen } = till.store.get()
  const [chosen, choose] = useState<PaymentType | null>(screen.name === 'pay' ? screen.type : null)
  const [isChoosing, setChoosing] = useState(false)
  const refused = refuseFinish(cart)
  const back = () => show(till, { name: 'sell' })
  const end = () => finish(till)
  useKeys({ Escape: chosen ? () => choose(null) : back, F2: end, F4: () => setChoosing(true) })
  return (
    <main class="pay">
      <h1>{owed(cart) > 0 ? `Devolver ${formatCents(owed(cart))}` : `Total ${formatCents(dueOf(cart))}`}</h1>
      {cart.customer && <p>{cart.customer.name}</p>}
      <Payments />
      {cart.payments.length > 0 && (
        <p class="sum" aria-live="polite">
          <span>{changeOf(cart) > 0 ? 'Troco' : 'Falta'}</span>{' '}
          <output>{formatCents(changeOf(cart) > 0 ? changeOf(cart) : remainingOf(cart))}</output>
        </p>
      )}
      {remainingOf(cart) > 0 && !chosen && (
        <div class="actions">
          {(config?.payment_types ?? []).map((type) => (
            <Button key={type.id} onClick={() => choose(type)}>
              {type.name}
            </Button>
          ))}
          {config?.payment_types.length === 0 && (
            <p>Esta empresa ainda não tem formas de pagamento. Cadastre uma em Configurações, no painel.</p>
          )}
        </div>
      )}
      {chosen && <Amount key={chosen.id} type={chosen} onDone={() => choose(null)} />}
      {!chosen && (
        <Button kind="main" onClick={end} isDisabled={refused !== null} hotkey="F2">
          Finalizar
        </Button>
      )}
      {!chosen && owed(cart) > 0 && <Button onClick={() => finish(till, 'voucher')}>Deixar como crédito</Button>}
      <Button onClick={() => setChoosing(true)} hotkey="F4">
        Cliente
      </Button>
      <Button onClick={back} hotkey="Esc">
        Voltar
      </Button>
      {isChoosing && <CustomerDialog onClose={() => setChoosing(false)} />}
    </main>
  )
}

function Payments() {
  const [till, { cart }] = useTill()
  return (
    <ul class="payments">
      {cart.payments.map((payment, at) => (
        <li key={at}>
          <span>{payment.name}</span> <b>{formatCents(payment.given)}</b>
          <Button
            label={`Tirar ${payment.name}`}
            onClick={() => setCart(till, { ...cart, payments: cart.payments.filter((_, place) => place !== at) })}
          >
            ×
          </Button>
        </li>
      ))}
    </ul>
  )
}

/** Amount of one payment; *Finalizar* takes it and ends the sale if it is enough. */
function Amount({ type, onDone }: { type: PaymentType; onDone(): void }) {
  const [till, { cart }] = useTill()
  const [text, setText] = useState(fieldCents(remainingOf(cart)))
  const [voucher, setVoucher] = useState('')
  /** Expired voucher that the operator was told of. */
  const [told, tell] = useState('')
  const cents = parseCents(text)
  const isEnough = cents !== null && cents >= remainingOf(cart)
  const take = async (isLast: boolean) => {
    if (cents === null) return say(till, 'Informe um valor válido, por exemplo 50,00.', true)
    const payment = toPayment(type, cents, voucher.trim().toUpperCase().slice(0, 40))
    const { refused, expired } = await judgeVoucher(till, cart, payment.voucher, cents)
    const wrong = refusePayment(cart, payment) ?? refused
    if (wrong !== null) return say(till, wrong, true)
    if (expired !== null && told !== payment.voucher) {
      tell(payment.voucher)
      return say(till, `${expired} Receba de novo para aceitar mesmo assim.`, true)
    }
    const next = { ...cart, payments: [...cart.payments, payment] }
    setCart(till, next)
    say(till, '')
    if (isLast && remainingOf(next) === 0) await finish(till)
    onDone()
  }
  const change = cents === null || !type.is_cash ? 0 : Math.max(cents - remainingOf(cart), 0)
  return (
    <Form onSubmit={() => take(true)}>
      <Field
        label={type.is_cash ? 'Valor recebido' : `Valor em ${type.name}`}
        value={text}
        onInput={setText}
        mode="decimal"
        isFirst
      />
      {type.kind === 'exchange_credit' && (
        <Field
          label="Código do vale"
          value={voucher}
          onInput={setVoucher}
          takesCodes
          note="Em branco: crédito do cliente"
        />
      )}
      {type.is_cash && (
        <p class="sum">
          <span>Troco</span> <output>{formatCents(change)}</output>
        </p>
      )}
      {type.kind === 'pix' && cents !== null && <PixCode cents={cents} />}
      <button type="submit" class="button main">
        {isEnough ? 'Finalizar' : 'Receber'}
      </button>
      {isEnough && <Button onClick={() => take(false)}>Receber</Button>}
      <Button onClick={onDone}>Outra forma</Button>
    </Form>
  )
}

/** Works without a connection: the bank's app reads key, amount and identifier. */
function PixCode({ cents }: { cents: number }) {
  const [, { config, cart }] = useTill()
  const { pix_key, pix_city, name } = config?.company ?? {}
  if (!pix_key || !name) return <p>Confirme o Pix no aplicativo do banco antes de finalizar.</p>
  const text = pixCode(
    { key: pix_key, name, city: pix_city ?? '' },
    cents,
    cart.offlineId.replaceAll('-', '').slice(0, 25),
  )
  return (
    <figure class="pix">
      <QrCode text={text} label="QR Code do Pix" />
      <figcaption>
        <code>{text}</code>
        Confirme o recebimento no aplicativo do banco antes de finalizar.
      </figcaption>
    </figure>
  )
}
