import { useEffect, useState } from 'preact/hooks'
import { save, say, show } from './context.ts'
import { Button, Field, Form, SubmitButton, useKeys, useTill } from './parts.tsx'
import { isPin } from './pins.ts'
import type { ScaleSetting } from './scale-labels.ts'
import type { Preferences } from './stored.ts'
import { setPin } from './till-login.ts'

/** What belongs to this device alone. */
export function SettingsScreen() {
  const [till, { preferences, device, isPersisted, catalog }] = useTill()
  const [pin, setPinText] = useState('')
  const back = () => show(till, { name: 'sell' })
  useKeys({ Escape: back })
  const prefer = (change: Partial<Preferences>) => {
    const next = { ...preferences, ...change }
    till.store.set({ preferences: next })
    save(till, { preferences: next })
  }
  const scale = (change: Partial<ScaleSetting>) => prefer({ scale: { ...preferences.scale, ...change } })
  const savePin = async () => {
    if (!isPin(pin)) return say(till, 'O PIN tem de 4 a 8 números.', true)
    await setPin(till, pin)
    setPinText('')
  }
  return (
    <main class="narrow">
      <h1>Este aparelho</h1>
      <p>
        Caixa {device?.number}. {catalog.size} produtos.{' '}
        {isPersisted
          ? 'O navegador garante que guarda os dados.'
          : 'O navegador não garante que guarda os dados: instale o aplicativo e não limpe o histórico.'}{' '}
        <Space />
      </p>
      <Form onSubmit={savePin}>
        <Field label="Seu PIN neste aparelho" type="password" mode="numeric" value={pin} onInput={setPinText} />
        <SubmitButton>Salvar PIN</SubmitButton>
      </Form>
      <Choice
        label="Papel"
        value={String(preferences.paper)}
        options={{ 58: '58 mm', 80: '80 mm' }}
        onChange={(paper) => prefer({ paper: paper === '58' ? 58 : 80 })}
      />
      <Choice
        label="Sons"
        value={preferences.sound ? 'on' : 'off'}
        options={{ on: 'Ligados', off: 'Desligados' }}
        onChange={(sound) => prefer({ sound: sound === 'on' })}
      />
      <Choice
        label="Etiquetas da balança"
        value={preferences.scale.value}
        options={{ price: 'Com o preço', weight: 'Com o peso' }}
        onChange={(value) => scale({ value: value === 'weight' ? 'weight' : 'price' })}
      />
      <Choice
        label="Números do SKU na etiqueta"
        value={String(preferences.scale.digits)}
        options={{ 4: '4', 5: '5', 6: '6' }}
        onChange={(digits) => scale({ digits: digits === '4' ? 4 : digits === '6' ? 6 : 5 })}
      />
      <Button onClick={back} hotkey="Esc">
        Voltar
      </Button>
    </main>
  )
}

const MEGABYTE = 1_000_000

/** What the browser says of its disk. */
function Space() {
  const [text, setText] = useState('')
  useEffect(() => {
    navigator.storage.estimate().then(
      ({ usage = 0, quota = 0 }) =>
        setText(`Espaço usado: ${Math.ceil(usage / MEGABYTE)} de ${Math.floor(quota / MEGABYTE)} MB.`),
      () => {},
    )
  }, [])
  return <>{text}</>
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
  readonly onChange: (value: string) => void
}

const Choice = ({ label, value, options, onChange }: ChoiceProps) => (
  <label class="field">
    <span>{label}</span>
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {Object.entries(options).map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  </label>
)
