import { useState } from 'preact/hooks'
import { formatCents } from './amounts.ts'
import { say } from './context.ts'
import { Button, Dialog, Field, Form, SubmitButton, useTill } from './parts.tsx'
import { fold } from './product-search.ts'
import { addNewCustomer, setCart } from './selling.ts'

const SHOWN = 20

/** Finds a customer by name or document, or makes a new one. */
export function CustomerDialog({ onClose }: { onClose(): void }) {
  const [till, { cart, customers, message, isAlarm }] = useTill()
  const [text, setText] = useState('')
  const [document, setDocument] = useState('')
  const words = fold(text).split(/\s+/).filter(Boolean)
  const digits = text.replace(/\D/g, '')
  const found = customers
    .filter(
      (customer) =>
        words.every((word) => fold(customer.name).includes(word)) ||
        (digits.length > 2 && customer.document.replace(/\D/g, '').includes(digits)),
    )
    .slice(0, SHOWN)
  const choose = (customer: (typeof customers)[number] | null) => {
    setCart(till, { ...cart, customer })
    onClose()
  }
  const create = async () => {
    if (text.trim() === '') return say(till, 'Informe o nome.', true)
    await addNewCustomer(till, text.trim(), document.trim())
    onClose()
  }
  return (
    <Dialog title="Cliente" onClose={onClose}>
      <Form onSubmit={create}>
        <Field label="Nome do cliente" value={text} onInput={setText} isFirst />
        <ul class="found">
          {found.map((customer) => (
            <li key={customer.offlineId ?? customer.id}>
              <button type="button" onClick={() => choose(customer)}>
                <span>{customer.name}</span>
                {customer.credit > 0 && <b>Crédito: {formatCents(customer.credit)}</b>}
              </button>
            </li>
          ))}
        </ul>
        <Field label="CPF ou CNPJ" value={document} onInput={setDocument} mode="numeric" note="Opcional" />
        {message !== '' && <p role={isAlarm ? 'alert' : 'status'}>{message}</p>}
        <SubmitButton>Cadastrar cliente</SubmitButton>
        {cart.customer && <Button onClick={() => choose(null)}>Vender sem cliente</Button>}
        <Button onClick={onClose}>Voltar</Button>
      </Form>
    </Dialog>
  )
}
