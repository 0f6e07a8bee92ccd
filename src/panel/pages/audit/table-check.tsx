import { formatDateTime } from '#domain/brazilian-format.ts'
import type { TableCheck } from '#integrity/audit/table-checks.ts'
import type { RowDifference } from '#ledger/rebuild/compare-tables.ts'
import { ListTable } from '../../ui/list.tsx'
import { Card, PanelBadge } from '../../ui/parts.tsx'

const FOUND: Readonly<Record<RowDifference['found'], string>> = {
  changed: 'Alterado fora do livro',
  missing: 'Falta: o livro o registra',
  unknown: 'O livro não o registra',
}

interface LastCheckProps {
  /** Null before the first check. */
  readonly check: TableCheck | null
  readonly timezone: string
}

/** Result of the last comparison of the tables with the ledger. Values are not shown: the ledger has the right ones. */
export const LastCheck = ({ check, timezone }: LastCheckProps) => {
  if (!check) return null
  const { differences, checked_at, revision } = check
  const at = `Registros conferidos com o livro em ${formatDateTime(checked_at, timezone)}, até a alteração nº ${revision}.`
  if (differences.length === 0) return <p class="hint">{at}</p>
  return (
    <Card title="Registros que não conferem com o livro">
      <p role="alert">
        <PanelBadge tone="bad">Há registros alterados</PanelBadge> {at} Avise quem opera o serviço: os registros podem
        ser refeitos a partir do livro.
      </p>
      <ListTable
        caption="Registros que não conferem com o livro"
        rows={differences}
        empty=""
        columns={[
          { head: 'Tabela', cell: ({ table }) => <code>{table}</code> },
          { head: 'Registro', cell: ({ key }) => Object.values(key).join(', ') },
          { head: 'O que há', cell: ({ found }) => FOUND[found] },
          { head: 'Campos', cell: ({ fields }) => fields.join(', ') },
        ]}
      />
    </Card>
  )
}
