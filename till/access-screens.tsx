import { useState } from 'preact/hooks'
import { show } from './context.ts'
import { Button, Field, Form, SubmitButton, useTill } from './parts.tsx'
import { MAX_WRONG_PINS } from './pins.ts'
import { unsentOf } from './state.ts'
import type { Operator } from './stored.ts'
import { leave, logIn, unlock, unsentFile } from './till-login.ts'

export function LoginScreen() {
  const [till, { screen, operators, current }] = useTill()
  const [email, setEmail] = useState(current?.email ?? '')
  const [password, setPassword] = useState('')
  const companies = screen.name === 'login' ? screen.companies : []
  const enter = async (companyId: number | null) => {
    await logIn(till, email.trim(), password, companyId)
    if (companyId !== null) setPassword('')
  }
  if (companies.length > 0)
    return (
      <main class="narrow">
        <h1>Em qual empresa?</h1>
        {companies.map(({ id, name }) => (
          <Button key={id} onClick={() => enter(id)}>
            {name}
          </Button>
        ))}
      </main>
    )
  return (
    <main class="narrow">
      <h1>Entrar no caixa</h1>
      <p>Use o mesmo e-mail e a mesma senha do painel.</p>
      <Form onSubmit={() => enter(null)}>
        <Field
          label="E-mail"
          type="email"
          value={email}
          onInput={setEmail}
          isFirst={!current}
          autocomplete="username"
        />
        <Field
          label="Senha"
          type="password"
          value={password}
          onInput={setPassword}
          isFirst={current !== null}
          autocomplete="current-password"
        />
        <SubmitButton>Entrar</SubmitButton>
      </Form>
      {current && !current.pin && <Button onClick={() => show(till, { name: 'sell' })}>Voltar</Button>}
      {operators.some(({ pin }) => pin) && (
        <Button onClick={() => show(till, { name: 'locked' })}>Entrar com PIN</Button>
      )}
    </main>
  )
}

export function LockedScreen() {
  const [till, { operators }] = useTill()
  const [chosen, choose] = useState<number | null>(null)
  const [pin, setPin] = useState('')
  const withPins = operators.filter((operator) => operator.pin)
  const operator = withPins.find(({ userId }) => userId === chosen) ?? (withPins.length === 1 ? withPins[0] : undefined)
  const enter = async (person: Operator) => {
    await unlock(till, person, pin)
    setPin('')
  }
  return (
    <main class="narrow">
      <h1>Caixa bloqueado</h1>
      {!operator &&
        withPins.map(({ userId, name }) => (
          <Button key={userId} onClick={() => choose(userId)}>
            {name}
          </Button>
        ))}
      {operator && operator.wrongPins >= MAX_WRONG_PINS && <p>PIN bloqueado. Entre com e-mail e senha.</p>}
      {operator && operator.wrongPins < MAX_WRONG_PINS && (
        <Form onSubmit={() => enter(operator)}>
          <p>{operator.name}</p>
          <Field label="PIN" type="password" mode="numeric" value={pin} onInput={setPin} isFirst />
          <SubmitButton>Desbloquear</SubmitButton>
        </Form>
      )}
      <Button onClick={() => show(till, { name: 'login', companies: [] })}>Entrar com e-mail e senha</Button>
    </main>
  )
}

function saveFile(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = `caixa-${new Date().toISOString().slice(0, 10)}.json`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** Unsent sales keep the person from leaving, until they are sent or saved. */
export function LeaveScreen() {
  const [till, state] = useTill()
  const [isSaved, setSaved] = useState(false)
  const count = unsentOf(state)
  const save = () => {
    saveFile(unsentFile(till))
    setSaved(true)
  }
  const send = async () => {
    if (await till.sync.run()) await leave(till)
  }
  return (
    <main class="narrow">
      <h1>Ainda há vendas para enviar</h1>
      <p>
        {count === 1 ? 'Falta enviar 1 registro' : `Faltam enviar ${count} registros`}. Envie agora ou salve em um
        arquivo antes de sair. O aparelho também continua com eles.
      </p>
      <Button kind="main" onClick={send}>
        Enviar agora
      </Button>
      <Button onClick={save}>Salvar em arquivo</Button>
      {isSaved && (
        <Button kind="bad" onClick={() => leave(till, true)}>
          Sair com o arquivo salvo
        </Button>
      )}
      <Button onClick={() => show(till, { name: 'sell' })}>Voltar</Button>
    </main>
  )
}
