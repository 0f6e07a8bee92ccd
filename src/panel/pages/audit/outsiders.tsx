import type { OutsiderState } from '#proof/outsiders/states.ts'
import { dateTime } from '../../format.ts'
import { Badge, Card, type Fact, Facts } from '../../ui/parts.tsx'

/** The location of copies is shown to operators only. */
const nameOf = ({ kind, source }: OutsiderState): string => {
  if (kind === 'cosignature') return `Testemunha ${source}`
  return kind === 'time_stamp' ? `Carimbo do tempo de ${new URL(source).host}` : 'Cópia fora do serviço'
}

interface OutsidersProps {
  readonly states: readonly OutsiderState[]
  readonly timezone: string
}

/** Attestations of the installation's checkpoints by attestor; empty if none is configured (PROOF-68). */
export const Outsiders = ({ states, timezone }: OutsidersProps) => {
  if (states.length === 0) return null
  const facts = states.map((state): Fact => {
    const { obtained_at, problem, waiting } = state
    const last = obtained_at === null ? 'ainda não confirmou' : `confirmou em ${dateTime(obtained_at, timezone)}`
    return [
      nameOf(state),
      <>
        {last} {badgeOf(problem, waiting)}
      </>,
    ]
  })
  return (
    <Card title="Quem confirma os selos">
      <p class="hint">Cada confirmação vale para todos os selos até ela; o que falta é pedido de novo.</p>
      <Facts facts={facts} />
    </Card>
  )
}

function badgeOf(problem: OutsiderState['problem'], waiting: number) {
  if (problem === 'inconsistent') return <Badge tone="bad">viu outro registro: avise quem opera o serviço</Badge>
  if (problem !== null) return <Badge tone="warn">sem resposta válida</Badge>
  return waiting > 0 && <Badge tone="plain">aguardando</Badge>
}
