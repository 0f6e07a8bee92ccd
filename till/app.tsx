import { useEffect } from 'preact/hooks'
import { LeaveScreen, LockedScreen, LoginScreen } from './access-screens.tsx'
import { isEmpty } from './cart.ts'
import { show } from './context.ts'
import { DrawerScreen } from './drawer-screen.tsx'
import { Button, useTill } from './parts.tsx'
import { PayScreen } from './pay-screen.tsx'
import { ReceiptScreen } from './receipt-screen.tsx'
import { SalesScreen } from './sales-screen.tsx'
import { fillField, listenToScanner } from './scanner.ts'
import { Message, SellScreen } from './sell-screen.tsx'
import { addByCode, tellUnknown } from './selling.ts'
import { SettingsScreen } from './settings-screen.tsx'
import { type Connection, refusedOf, unsentOf } from './state.ts'
import { leave } from './till-login.ts'
import { takeUpdate } from './updates.ts'
import { VoucherScreen } from './voucher-screen.tsx'

/** Screens on which a scan goes into the sale. */
const SCANNED = ['sell', 'pay', 'receipt', 'voucher', 'sales', 'drawer', 'settings']

export function App() {
  const [till, { screen, current }] = useTill()
  useEffect(
    () =>
      listenToScanner((code) => {
        const { name } = till.store.get().screen
        if (!SCANNED.includes(name)) return
        // An open dialog that asks for a code gets it.
        const asked = document.querySelector<HTMLInputElement>('dialog[open] input[data-codes]')
        if (asked) return fillField(asked, code)
        if (!addByCode(till, code)) tellUnknown(till, code)
        else if (name !== 'sell' && name !== 'pay') show(till, { name: 'sell' })
      }),
    [till],
  )
  const isOpen = current !== null && SCANNED.includes(screen.name)
  return (
    <>
      {isOpen && <Head />}
      <Message />
      <ScreenShown />
    </>
  )
}

function ScreenShown() {
  const [, { screen }] = useTill()
  switch (screen.name) {
    case 'starting':
      return <Notice title="Abrindo o caixa…" text={screen.text} />
    case 'failed':
      return <Notice title="O caixa não abriu" text={screen.message} />
    case 'other-tab':
      return (
        <Notice
          title="O caixa está aberto em outra aba"
          text="Volte para a outra aba ou feche-a: o caixa abre aqui em seguida."
        />
      )
    case 'login':
      return <LoginScreen />
    case 'locked':
      return <LockedScreen />
    case 'sell':
      return <SellScreen />
    case 'pay':
      return <PayScreen />
    case 'receipt':
      return <ReceiptScreen recordKey={screen.key} codes={screen.codes} />
    case 'voucher':
      return <VoucherScreen {...screen} />
    case 'sales':
      return <SalesScreen />
    case 'drawer':
      return <DrawerScreen />
    case 'settings':
      return <SettingsScreen />
    case 'leave':
      return <LeaveScreen />
  }
}

const Notice = ({ title, text }: { title: string; text: string }) => (
  <main class="narrow">
    <h1>{title}</h1>
    <p>{text}</p>
  </main>
)

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connected: 'Conectado',
  offline: 'Sem conexão',
  password: 'Senha necessária',
  waiting: 'O serviço pediu para esperar',
  trouble: 'Falha no serviço',
}

function Head() {
  const [till, state] = useTill()
  const { device, current, parked, connection, hasUpdate, cart } = state
  const unsent = unsentOf(state)
  const refused = refusedOf(state).records.length
  return (
    <header>
      <p>
        <b>Caixa {device?.number}</b> · {current?.name}
      </p>
      <p class={`connection ${connection}`} role="status">
        {CONNECTIONS[connection]}
        {unsent > 0 && ` · ${unsent} a enviar`}
        {refused > 0 && ` · ${refused === 1 ? '1 recusado' : `${refused} recusados`}`}
      </p>
      <Warnings />
      <nav>
        {connection === 'password' && (
          <Button kind="bad" onClick={() => show(till, { name: 'login', companies: [] })}>
            Informar a senha
          </Button>
        )}
        {hasUpdate && isEmpty(cart) && <Button onClick={takeUpdate}>Atualizar o caixa</Button>}
        <Button onClick={() => show(till, { name: 'sales' })}>
          Vendas{parked.length > 0 ? ` (${parked.length})` : ''}
        </Button>
        <Button onClick={() => show(till, { name: 'drawer' })}>Gaveta</Button>
        <Button onClick={() => show(till, { name: 'settings' })}>Aparelho</Button>
        {current?.pin && <Button onClick={() => show(till, { name: 'locked' })}>Bloquear</Button>}
        <Button onClick={() => leave(till)}>Sair</Button>
      </nav>
    </header>
  )
}

const MAX_OFFSET_MS = 120_000

function Warnings() {
  const [, { clockOffsetMs, missingCopy, hasUpdate, isStale }] = useTill()
  const minutes = Math.round(Math.abs(clockOffsetMs) / 60_000)
  return (
    <>
      {Math.abs(clockOffsetMs) > MAX_OFFSET_MS && (
        <p class="alarm">
          O relógio deste aparelho está {minutes} min {clockOffsetMs > 0 ? 'atrasado' : 'adiantado'}. Acerte-o.
        </p>
      )}
      {missingCopy !== null && (
        <p class="alarm">Só uma cópia das vendas está sendo gravada. Libere espaço neste aparelho.</p>
      )}
      {isStale && <p>A lista de produtos ou de clientes não foi atualizada.</p>}
      {hasUpdate && <p>Há uma versão nova, que entra entre duas vendas.</p>}
    </>
  )
}
