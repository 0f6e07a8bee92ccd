import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { say, type Till } from './context.ts'
import type { TillState } from './state.ts'

export const TillContext = createContext<Till | null>(null)

export function useTill(): [Till, TillState] {
  const till = useContext(TillContext)
  if (!till) throw new Error('a screen of the till stands outside of it')
  const [state, setState] = useState(till.store.get())
  useEffect(() => {
    setState(till.store.get())
    return till.store.subscribe(() => setState(till.store.get()))
  }, [till])
  return [till, state]
}

interface ButtonProps {
  readonly children: ComponentChildren
  readonly onClick: () => unknown
  readonly kind?: 'main' | 'bad' | 'plain'
  readonly isDisabled?: boolean
  /** Key that does the same. */
  readonly hotkey?: string
  readonly label?: string
}

/** A button; what it does once is done once, until it is over. */
export function Button({ children, onClick, kind = 'plain', isDisabled = false, hotkey, label }: ButtonProps) {
  const [till] = useTill()
  const [isBusy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    try {
      await onClick()
    } catch (error) {
      console.warn('till: an action has failed', error)
      say(till, 'Algo deu errado neste aparelho. Tente de novo.', true)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button
      type="button"
      class={`button ${kind}`}
      disabled={isDisabled || isBusy}
      aria-label={label}
      aria-keyshortcuts={hotkey}
      data-key={hotkey}
      onClick={press}
    >
      {children}
    </button>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'email' | 'password'
  readonly mode?: 'decimal' | 'numeric' | 'text'
  readonly isFirst?: boolean
  readonly takesCodes?: boolean
  readonly note?: string
  readonly autocomplete?: string
}

export function Field({
  label,
  value,
  onInput,
  type = 'text',
  mode = 'text',
  isFirst,
  takesCodes,
  note,
  autocomplete = 'off',
}: FieldProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [isFirst])
  return (
    <label class="field">
      <span>{label}</span>
      <input
        ref={input}
        type={type as 'text'}
        inputMode={mode}
        value={value}
        maxLength={200}
        autocomplete={autocomplete}
        data-codes={takesCodes ? '' : undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onFocus={({ currentTarget }) => mode === 'decimal' && currentTarget.select()}
      />
      {note && <small>{note}</small>}
    </label>
  )
}

/** A form that Enter sends; it sends once at a time. */
export function Form({ onSubmit, children }: { onSubmit(): unknown; children: ComponentChildren }) {
  const [till] = useTill()
  const isBusy = useRef(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy.current) return
    isBusy.current = true
    try {
      await onSubmit()
    } catch (error) {
      console.warn('till: a form has failed', error)
      say(till, 'Algo deu errado neste aparelho. Tente de novo.', true)
    } finally {
      isBusy.current = false
    }
  }
  return (
    <form class="form" onSubmit={submit} noValidate>
      {children}
    </form>
  )
}

export const SubmitButton = ({ children }: { children: ComponentChildren }) => (
  <button type="submit" class="button main">
    {children}
  </button>
)

/** A dialog of the browser: Esc closes it, the focus stays in it. */
export function Dialog({ title, onClose, children }: { title: string; onClose(): void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose} onCancel={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

/** Keys of the screen that is shown. */
export function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = keys[event.key]
      if (!act || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return
      event.preventDefault()
      void act()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  })
}
