import { formatCount, formatDateTime } from '#domain/brazilian-format.ts'
import type { TableCheck } from '#integrity/audit/table-checks.ts'
import type { RowDifference } from '#ledger/rebuild/compare-tables.ts'
import { ListTable } from '../../ui/list-table.tsx'
import { Card, PanelBadge } from '../../ui/parts.tsx'

const FOUND: Readonly<Record<RowDifference['found'], string>> = {
  changed: 'Alterado fora do sistema',
  missing: 'Falta: consta do registro de auditoria',
  unknown: 'Não consta do registro de auditoria',
}

interface LastCheckProps {
  /** Number of the last event. */
  readonly revision: number
  /** Null before the first check. */
  readonly check: TableCheck | null
  readonly timezone: string
}

/** Result of the last comparison of the tables with the ledger. Values are not shown: the ledger has the right ones. */
export const LastCheck = ({ check, revision, timezone }: LastCheckProps) => {
  if (!check) return null
  const { differences, checked_at } = check
  const at = `Comparação diária dos cadastros com o registro de auditoria: a última, em ${formatDateTime(checked_at, timezone)}, foi até o evento nº ${formatCount(check.revision)} de ${formatCount(revision)}. Cada dia confere o que mudou; a última do registro inteiro, em ${formatDateTime(check.whole_at, timezone)}, foi até o nº ${formatCount(check.whole_revision)}.`
  if (differences.length === 0) return <p class="hint">{at}</p>
  return (
    <Card title="Cadastros que não conferem com a auditoria">
      <p role="alert">
        <PanelBadge tone="bad">Há registros alterados</PanelBadge> {at} Avise o suporte: os dados podem ser refeitos a
        partir do registro de auditoria.
      </p>
      <ListTable
        caption="Cadastros que não conferem com a auditoria"
        rows={differences}
        empty=""
        columns={[
          { head: 'Tabela', cell: ({ table }) => <code>{table}</code> },
          { head: 'Registro', cell: ({ key }) => Object.values(key).join(', ') },
          { head: 'Problema', cell: ({ found }) => FOUND[found] },
          { head: 'Campos', cell: ({ fields }) => fields.join(', ') },
        ]}
      />
    </Card>
  )
}
