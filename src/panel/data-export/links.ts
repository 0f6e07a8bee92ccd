import type { ExportedPerson } from '#privacy/data-export.ts'
import type { PageAction, PageContext } from '../route.ts'
import { canExportPerson, dataExportPath } from './download.ts'

/**
 * Links to a person's data export, for owners and for auditors with access to personal data: one to read, one for other
 * systems. An erased person has nothing to export.
 */
export const dataExportActions = (
  kind: ExportedPerson['kind'],
  { id, forgotten_at }: { readonly id: number; readonly forgotten_at: string | null },
  { session, readModel }: PageContext,
): PageAction[] =>
  canExportPerson(session) && !readModel.moment && forgotten_at === null
    ? [
        { label: 'Baixar dados (página)', to: dataExportPath({ kind, id }, 'html') },
        { label: 'Baixar dados (JSON)', to: dataExportPath({ kind, id }, 'json') },
      ]
    : []
