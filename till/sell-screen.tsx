import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatCents, formatQuantity, formatUnits, parseCents, parseDiscount, parseQuantity } from './amounts.ts'
import { Camera, hasCamera } from './camera.tsx'
import {
  cartTotal,
  changeLine,
  dueOf,
  emptyCart,
  isEmpty,
  lineGross,
  linesTotal,
  lineTotal,
  owed,
  removeLine,
} from './cart.ts'
import { newCartId, say, show } from './context.ts'
import { CustomerDialog } from './customer-dialog.tsx'
import { Button, Dialog, Field, Form, SubmitButton, useKeys, useTill } from './parts.tsx'
import type { PaymentType } from './records.ts'
import { add, addByCode, addNewProduct, park, setCart, tellUnknown } from './selling.ts'
import { readTyped } from './typed.ts'

type Open =
  | { kind: 'product'; text: string }
  | { kind: 'customer' }
  | { kind: 'discount' }
  | { kind: 'camera' }
  | { kind: 'cancel' }
  | { kind: 'line'; at: number }
  | null

/** Where items are put together. */
export function SellScreen() {
  const [till, { cart, unknownCode }] = useTill()
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const pay = (type: PaymentType | null = null) =>
    isEmpty(cart) ? say(till, 'Inclua ao menos um item.', true) : show(till, { name: 'pay', type })
  const undo = () => setCart(till, removeLine(cart, cart.lines.length - 1))
  const actions = {
    F2: () => pay(),
    F3: () => setOpen({ kind: 'product', text: unknownCode }),
    F4: () => setOpen({ kind: 'customer' }),
    F6: () => setOpen({ kind: 'discount' }),
    F8: () => park(till),
    F9: undo,
  }
  useKeys(actions)
  return (
    <main class="sell">
      <h1 class="unseen">Venda</h1>
      <Search onNew={(text) => setOpen({ kind: 'product', text })} onCamera={() => setOpen({ kind: 'camera' })} />
      <Lines onLine={(at) => setOpen({ kind: 'line', at })} />
      <Total onPay={pay} />
      <div class="actions">
        <Button onClick={actions.F3} hotkey="F3">
          Novo produto
        </Button>
        <Button onClick={actions.F4} hotkey="F4">
          Cliente
        </Button>
        <Button onClick={actions.F6} hotkey="F6" isDisabled={isEmpty(cart)}>
          Desconto
        </Button>
        <Button onClick={actions.F8} hotkey="F8" isDisabled={isEmpty(cart)}>
          Guardar
        </Button>
        <Button onClick={undo} hotkey="F9" isDisabled={cart.lines.length === 0}>
          Desfazer
        </Button>
        <Button onClick={() => setOpen({ kind: 'cancel' })} isDisabled={isEmpty(cart)}>
          Cancelar venda
        </Button>
      </div>
      {open?.kind === 'product' && <ProductDialog text={open.text} onClose={close} />}
      {open?.kind === 'customer' && <CustomerDialog onClose={close} />}
      {open?.kind === 'discount' && <DiscountDialog onClose={close} />}
      {open?.kind === 'line' && <LineDialog at={open.at} onClose={close} />}
      {open?.kind === 'cancel' && <CancelDialog onClose={close} />}
      {open?.kind === 'camera' && <CameraDialog onClose={close} />}
    </main>
  )
}

function Search({ onNew, onCamera }: { onNew(text: string): void; onCamera(): void }) {
  const [till, { catalog }] = useTill()
  const [text, setText] = useState('')
  const typed = readTyped(text)
  const found = useMemo(() => catalog.search(typed.text), [catalog, typed.text])
  const take = () => {
    if (typed.text === '') return
    const [first] = found
    if (addByCode(till, text)) setText('')
    else if (first) {
      add(till, first, typed.quantity)
      setText('')
    } else tellUnknown(till, typed.text)
  }
  return (
    <section class="search">
      <Form onSubmit={take}>
        <div class="row">
          <Field label="Buscar" value={text} onInput={setText} isFirst takesCodes />
          {hasCamera() && <Button onClick={onCamera}>Câmera</Button>}
        </div>
      </Form>
      {typed.text !== '' && (
        <ul class="found">
          {found.map((product) => (
            <li key={product.offlineId ?? product.id}>
              <button
                type="button"
                onClick={() => {
                  add(till, product, typed.quantity)
                  setText('')
                }}
              >
                <span>{product.name}</span> <b>{formatCents(product.price)}</b>
              </button>
            </li>
          ))}
          {found.length === 0 && (
            <li>
              <p>Nenhum produto encontrado.</p>
              <Button onClick={() => onNew(typed.text)}>Cadastrar “{typed.text.slice(0, 40)}”</Button>
            </li>
          )}
        </ul>
      )}
    </section>
  )
}

function Lines({ onLine }: { onLine(at: number): void }) {
  const [till, { cart, catalog }] = useTill()
  const list = useRef<HTMLOListElement>(null)
  // The last line stays in sight, however long the sale is.
  useEffect(() => list.current?.lastElementChild?.scrollIntoView({ block: 'nearest' }), [cart.lines])
  if (isEmpty(cart))
    return (
      <section class="lines empty">
        <p>
          {catalog.size === 0
            ? 'Ainda não há produtos. Toque em “Novo produto” para fazer a primeira venda.'
            : 'Leia um código de barras ou busque um produto.'}
        </p>
      </section>
    )
  return (
    <section class="lines" aria-label="Itens da venda">
      {cart.returned && (
        <p class="back">
          Troca: voltam{' '}
          {cart.returned.lines.map(({ name, quantity }) => `${formatQuantity(quantity)} × ${name}`).join(', ')}{' '}
          <b>−{formatCents(cart.returned.value)}</b>
          <Button onClick={() => setCart(till, { ...cart, returned: null })}>Desfazer a troca</Button>
        </p>
      )}
      <ol ref={list}>
        {cart.lines.map((line, at) => (
          <li key={at}>
            <button type="button" onClick={() => onLine(at)}>
              <span>{line.name}</span>
              <small>
                {formatUnits(line.quantity, line.unit)} × {formatCents(line.price)}
                {line.discount > 0 && ` − ${formatCents(line.discount)}`}
              </small>
              <b>{formatCents(lineTotal(line))}</b>
            </button>
            <Button label={`Remover ${line.name}`} onClick={() => setCart(till, removeLine(cart, at))}>
              ×
            </Button>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** Forms of payment that need no second look: one press opens them with the whole amount. */
const QUICK = ['cash', 'pix']

function Total({ onPay }: { onPay(type?: PaymentType): void }) {
  const [, { cart, config }] = useTill()
  const quick = (config?.payment_types ?? []).filter(({ kind, is_cash }) => is_cash || QUICK.includes(kind)).slice(0, 2)
  return (
    <section class="total">
      {cart.customer && <p>{cart.customer.name}</p>}
      {cart.discount > 0 && <p>Desconto: −{formatCents(cart.discount)}</p>}
      {owed(cart) > 0 && <p>A devolver: {formatCents(owed(cart))}</p>}
      <p class="sum" aria-live="polite">
        <span>Total</span> <output>{formatCents(cart.returned ? dueOf(cart) : cartTotal(cart))}</output>
      </p>
      <Button kind="main" onClick={() => onPay()} hotkey="F2" isDisabled={isEmpty(cart)}>
        Receber
      </Button>
      {!isEmpty(cart) && !cart.returned && (
        <div class="row">
          {quick.map((type) => (
            <Button key={type.id} onClick={() => onPay(type)}>
              {type.name}
            </Button>
          ))}
        </div>
      )}
    </section>
  )
}

function ProductDialog({ text, onClose }: { text: string; onClose(): void }) {
  const [till, { catalog }] = useTill()
  const isCode = /^\d{6,14}$/.test(text)
  const [name, setName] = useState(isCode ? '' : text)
  const [price, setPrice] = useState('')
  const [barcode, setBarcode] = useState(isCode ? text : '')
  const [unit, setUnit] = useState('UN')
  const submit = async () => {
    const cents = parseCents(price)
    if (name.trim() === '') return say(till, 'Informe o nome.', true)
    if (cents === null || cents === 0) return say(till, 'Informe um preço válido, por exemplo 1.234,50.', true)
    if (barcode !== '' && catalog.byCode(barcode.trim())) return say(till, 'Este código já é de outro produto.', true)
    await addNewProduct(till, { name: name.trim(), price: cents, barcode: barcode.trim(), unit })
    onClose()
  }
  return (
    <Dialog title="Novo produto" onClose={onClose}>
      <Form onSubmit={submit}>
        <Field label="Nome" value={name} onInput={setName} isFirst />
        <Field label="Preço" value={price} onInput={setPrice} mode="decimal" />
        <Field
          label="Código de barras"
          value={barcode}
          onInput={setBarcode}
          mode="numeric"
          takesCodes
          note="Opcional"
        />
        <label class="field">
          <span>Unidade</span>
          <select value={unit} onChange={({ currentTarget }) => setUnit(currentTarget.value)}>
            <option value="UN">Unidade</option>
            <option value="KG">Quilo</option>
          </select>
        </label>
        <Message />
        <SubmitButton>Salvar</SubmitButton>
        <Button onClick={onClose}>Voltar</Button>
      </Form>
    </Dialog>
  )
}

function CancelDialog({ onClose }: { onClose(): void }) {
  const [till, { cart }] = useTill()
  const cancel = () => {
    setCart(till, emptyCart(newCartId()))
    onClose()
    say(till, 'Venda cancelada: nada foi registrado.')
  }
  return (
    <Dialog title="Cancelar esta venda?" onClose={onClose}>
      <p>Os itens saem da tela: {formatCents(cartTotal(cart))}.</p>
      <Button kind="bad" onClick={cancel}>
        Sim, cancelar venda
      </Button>
      <Button onClick={onClose}>Voltar</Button>
    </Dialog>
  )
}

function DiscountDialog({ onClose }: { onClose(): void }) {
  const [till, { cart }] = useTill()
  const [text, setText] = useState('')
  const submit = () => {
    const discount = parseDiscount(text, linesTotal(cart))
    if (discount === null) return say(till, 'Informe um valor até o total, por exemplo 2,50 ou 10%.', true)
    setCart(till, { ...cart, discount })
    onClose()
  }
  return (
    <Dialog title="Desconto na venda" onClose={onClose}>
      <Form onSubmit={submit}>
        <Field label="Desconto (R$ ou %)" value={text} onInput={setText} isFirst note="Ex.: 2,50 ou 10%" />
        <Message />
        <SubmitButton>Aplicar</SubmitButton>
        <Button onClick={onClose}>Voltar</Button>
      </Form>
    </Dialog>
  )
}

function LineDialog({ at, onClose }: { at: number; onClose(): void }) {
  const [till, { cart }] = useTill()
  const line = cart.lines[at]
  const [quantity, setQuantity] = useState(line ? formatQuantity(line.quantity).replaceAll('.', '') : '')
  const [discount, setDiscount] = useState('')
  if (!line) return null
  const submit = () => {
    const thousandths = parseQuantity(quantity)
    if (thousandths === null) return say(till, 'Informe uma quantidade válida, por exemplo 1,5.', true)
    const changed = thousandths === line.quantity ? line : { ...line, quantity: thousandths, labelled: null }
    const off = discount.trim() === '' ? line.discount : parseDiscount(discount, lineGross(changed))
    if (off === null) return say(till, 'Informe um desconto até o valor do item, por exemplo 2,50 ou 10%.', true)
    setCart(till, changeLine(cart, at, { ...changed, discount: off }))
    onClose()
  }
  return (
    <Dialog title={line.name} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field label="Quantidade" value={quantity} onInput={setQuantity} mode="decimal" isFirst />
        <Field label="Desconto no item (R$ ou %)" value={discount} onInput={setDiscount} />
        <Message />
        <SubmitButton>Aplicar</SubmitButton>
        <Button onClick={onClose}>Voltar</Button>
      </Form>
    </Dialog>
  )
}

function CameraDialog({ onClose }: { onClose(): void }) {
  const [till] = useTill()
  const take = (code: string) => {
    if (!addByCode(till, code)) tellUnknown(till, code)
    onClose()
  }
  const fail = () => {
    say(till, 'A câmera não está disponível.', true)
    onClose()
  }
  return (
    <Dialog title="Ler código com a câmera" onClose={onClose}>
      <Camera onCode={take} onFail={fail} />
      <Button onClick={onClose}>Voltar</Button>
    </Dialog>
  )
}

/** What was last said, where a dialog would cover it. */
export function Message() {
  const [, { message, isAlarm }] = useTill()
  return message === '' ? null : (
    <p class={isAlarm ? 'message alarm' : 'message'} role={isAlarm ? 'alert' : 'status'}>
      {message}
    </p>
  )
}
