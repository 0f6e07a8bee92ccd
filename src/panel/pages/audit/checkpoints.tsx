import { formatDateTime } from '#domain/brazilian-format.ts'
import type { SealState } from '#integrity/proofs/checkpoint-status.ts'
import { Card, Facts, PanelBadge } from '../../ui/parts.tsx'
import { FAULTS } from './verification.tsx'

/** Reasons for a missing checkpoint other than a fault of the ledger. */
const REASONS: Readonly<Record<string, string>> = {
  ...FAULTS,
  wrong_key: 'A chave dos selos não é a que os verificadores conhecem.',
  failed: 'O serviço não conseguiu selar.',
}

interface SealsProps {
  readonly state: SealState
  readonly timezone: string
}

/** Last checkpoint of the ledger, its time, and problems. */
export const Seals = ({ state: { checkpoint, installation, fault }, timezone }: SealsProps) => {
  if (!checkpoint && !fault) return <p class="hint">O registro de auditoria ainda não tem selos.</p>
  return (
    <Card title="Selos">
      {fault && (
        <p role="alert">
          <PanelBadge tone="bad">O registro de auditoria está sem selo novo</PanelBadge> Desde{' '}
          {formatDateTime(fault.since, timezone)}: {REASONS[fault.reason] ?? REASONS.failed} Avise o suporte.
        </p>
      )}
      <Facts
        facts={[
          ['Último selo', checkpoint && formatDateTime(checkpoint.made_at, timezone)],
          ['Eventos selados', checkpoint?.size],
          [
            'No registro da instalação',
            installation
              ? `${installation.covers} eventos, em ${formatDateTime(installation.made_at, timezone)}`
              : 'ainda não',
          ],
        ]}
      />
    </Card>
  )
}
