import { formatDateTime } from '#domain/brazilian-format.ts'
import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { Card, type Fact, Facts, PanelBadge } from '../../ui/parts.tsx'

/** The location of copies is shown to operators only. */
const nameOf = ({ kind, source, host }: AttestationStatus): string => {
  if (kind === 'cosignature') return `Testemunha ${source}`
  return kind === 'time_stamp' ? `Carimbo do tempo de ${host}` : 'Cópia fora do serviço'
}

const PROBLEMS: Readonly<Record<NonNullable<AttestationStatus['problem']>, string>> = {
  unreachable: 'sem resposta',
  refused: 'pedido recusado',
  wrong_answer: 'resposta inválida',
  inconsistent: 'viu outro registro: avise o suporte',
  failed: 'pedido não enviado',
}

interface AttestorsProps {
  readonly states: readonly AttestationStatus[]
  readonly timezone: string
}

/** Attestations of the installation's checkpoints by attestor; empty if none is configured. */
export const Attestors = ({ states, timezone }: AttestorsProps) => {
  if (states.length === 0) return null
  const facts = states.map((state): Fact => {
    const { obtained_at } = state
    const last = obtained_at === null ? 'ainda não confirmou' : `confirmou em ${formatDateTime(obtained_at, timezone)}`
    return [
      nameOf(state),
      <>
        {last} {badgeOf(state, timezone)}
      </>,
    ]
  })
  return (
    <Card title="Quem confirma os selos">
      <p class="hint">
        Cada confirmação vale para todos os selos anteriores. As que faltam são pedidas de novo automaticamente.
      </p>
      <Facts facts={facts} />
    </Card>
  )
}

function badgeOf({ problem, waiting, failing_since, host }: AttestationStatus, timezone: string) {
  if (problem !== null) {
    const since = failing_since === null ? '' : ` desde ${formatDateTime(failing_since, timezone)}`
    const text = `${PROBLEMS[problem]}${since}${host === null ? '' : ` (${host})`}`
    return <PanelBadge tone={problem === 'inconsistent' ? 'bad' : 'warn'}>{text}</PanelBadge>
  }
  return waiting > 0 && <PanelBadge tone="plain">aguardando</PanelBadge>
}
