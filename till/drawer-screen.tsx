import { useState } from 'preact/hooks'
import { parseCents } from './amounts.ts'
import { drawerOf, say, show } from './context.ts'
import { Button, Field, Form, SubmitButton, useKeys, useTill } from './parts.tsx'
import type { MovementBody } from './records.ts'
import { moveCash, offeredDrawer, takeDrawer } from './selling.ts'

const ASKED: Readonly<Record<MovementBody['kind'], { title: string; label: string; submit: string }>> = {
  opened: { title: 'Abrir o caixa', label: 'Troco inicial', submit: 'Abrir caixa' },
  in: { title: 'Suprimento', label: 'Valor que entra', submit: 'Registrar suprimento' },
  out: { title: 'Sangria', label: 'Valor que sai', submit: 'Registrar sangria' },
  closed: { title: 'Fechar o caixa', label: 'Dinheiro contado na gaveta', submit: 'Fechar caixa' },
}

/** The drawer. It is counted blind: what should be in it is shown in the panel, not here. */
export function DrawerScreen() {
  const [till, state] = useTill()
  const drawer = drawerOf(state)
  const offered = drawer ? null : offeredDrawer(state)
  const [chosen, choose] = useState<MovementBody['kind'] | null>(null)
  const back = () => show(till, { name: 'sell' })
  useKeys({ Escape: back })
  return (
    <main class="narrow">
      <h1>Gaveta</h1>
      <p>
        {drawer
          ? `Aberta em ${new Date(drawer.openedAt).toLocaleString('pt-BR')}.`
          : 'A gaveta está fechada. Abra-a para conferir o dinheiro no fim do dia.'}
      </p>
      {offered && (
        <Button kind="main" onClick={() => takeDrawer(till)}>
          Usar minha gaveta, aberta em {new Date(offered.opened_at).toLocaleString('pt-BR')}
        </Button>
      )}
      {!drawer && <Movement kind="opened" />}
      {drawer && !chosen && (
        <div class="actions">
          <Button onClick={() => choose('in')}>Suprimento</Button>
          <Button onClick={() => choose('out')}>Sangria</Button>
          <Button onClick={() => choose('closed')}>Fechar caixa</Button>
        </div>
      )}
      {drawer && chosen && <Movement key={chosen} kind={chosen} />}
      <Button onClick={back} hotkey="Esc">
        Voltar
      </Button>
    </main>
  )
}

function Movement({ kind }: { kind: MovementBody['kind'] }) {
  const [till] = useTill()
  const [text, setText] = useState('')
  const [reason, setReason] = useState('')
  const { title, label, submit } = ASKED[kind]
  const isMoved = kind === 'in' || kind === 'out'
  const move = () => {
    const cents = parseCents(text)
    if (cents === null || (isMoved && cents === 0))
      return say(till, 'Informe um valor válido, por exemplo 150,00.', true)
    return moveCash(till, kind, cents, reason.trim())
  }
  return (
    <Form onSubmit={move}>
      <h2>{title}</h2>
      <Field label={label} value={text} onInput={setText} mode="decimal" isFirst />
      {isMoved && <Field label="Motivo" value={reason} onInput={setReason} note="Opcional" />}
      <SubmitButton>{submit}</SubmitButton>
    </Form>
  )
}
